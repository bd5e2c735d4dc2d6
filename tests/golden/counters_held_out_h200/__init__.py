"""More kernels of an H200 with its counters, made and read by the scripts of `counters_h200`."""
