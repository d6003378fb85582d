"""Inference: from a program, or from a linear constraint, to the sufficiency of every label, with its error bar."""
