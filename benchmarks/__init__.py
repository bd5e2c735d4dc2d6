"""Scripts that make the figures in `results/`."""
