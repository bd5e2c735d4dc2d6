"""A second recording of interventions on an H200, made and read by the scripts of `interventions_h200`.

It is here beside the first because that has no steps with the host ahead: these say, with no model of what a replay
costs, what of a step was starved. The first has more graphs, and pairs whose share of a replay was read off it.
"""
