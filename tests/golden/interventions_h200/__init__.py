"""Interventions recorded on an H200, in small files; `cut.py` made them and `load.py` reads them."""
