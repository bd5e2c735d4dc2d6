"""Shows a run folder in a browser. Reads what a run wrote; measures and computes nothing of its own."""
