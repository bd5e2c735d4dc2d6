"""The timeline of a trace: its lanes, what of them a window shows, and what is known of one event. Draws nothing."""
