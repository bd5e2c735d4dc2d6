"""Writes a report, one file a format. Reads reports and nothing else: whatever is shown is a field of the report."""
