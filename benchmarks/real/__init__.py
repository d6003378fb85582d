"""Psi on label errors that nobody planted."""
