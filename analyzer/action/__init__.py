"""The GitHub action: what action.yml calls, so that no logic stands in YAML. `python -P -m analyzer.action STEP`."""
