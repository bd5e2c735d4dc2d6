"""`analyze check`: finds the policy and the baseline, runs what must be run, and has it judged by `analyzer.gate`."""
