"""What a run is held against, and whether it passes: policy, baseline, counts and times. Runs nothing itself."""
