"""Changes: candidates for a graph, the search for a plan, and the backend that carries a plan out."""
