"""Computes: attribution, costs, budgets, verdicts, predictions. No torch, no files, no clock."""
