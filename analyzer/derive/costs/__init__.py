"""Arithmetic and memory traffic of one operator, from the shapes it was recorded with."""
