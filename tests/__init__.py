"""The tests. A package, so that no other distribution's `tests` can stand before it on the path."""
