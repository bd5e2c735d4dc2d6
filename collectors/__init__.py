"""Observes: workloads, captures, timings and traces. The only place where a user's code runs."""
