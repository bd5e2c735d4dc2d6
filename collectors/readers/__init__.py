"""Readers of trace files. They turn a file into a `Trace` and never import torch."""
