"""Kernels of an H200 with its hardware counters, in small files; `cut.py` made them and `load.py` reads them."""
