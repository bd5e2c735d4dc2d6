"""Reports of `analyze` on the cases with a known cause, on an H200; `cut.py` made it, and it is read as it is."""
