"""Probabilistic programs as data: statements, the paper's programs, an interpreter over many worlds at once."""
