"""Models of the suite that are no examples: files that `analyze` takes, self-contained where that is short."""
