"""Reports of `analyze` on the cases with a known cause, on a CPU, made by the script of `cases_h200`."""
