"""The fourth set of kernels of an H200 with its counters, made and read by the scripts of `counters_h200`.

Nobody had looked at a kernel of it when it was recorded, nor at its counters when it was first judged.
"""
