"""The panels of the dashboard, one file each; `panel_list.py` is the explicit list."""
