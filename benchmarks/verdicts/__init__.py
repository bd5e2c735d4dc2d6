"""Holds verdicts against what is independent of us: hardware counters, interventions, cases with a known cause."""
