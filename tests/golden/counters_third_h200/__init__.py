"""The third set of kernels of an H200 with its counters, made and read by the scripts of `counters_h200`.

Nobody had looked at a kernel of it when it was recorded.
"""
