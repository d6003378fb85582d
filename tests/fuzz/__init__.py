"""Mutated files of every kind that Psi opens: each gets an answer or a sentence, never a signal, a traceback or a hang.

``python -m tests.fuzz --count 1000`` is the long form; the suite takes 20 of each kind, or ``PSI_FUZZ`` of them.
"""
