"""Probabilistic programs as data: statements, the paper's question as one, an interpreter over many worlds at once."""
