"""The sub-commands of `analyze`, one file each; `command_list.py` is the explicit list."""
