"""Engines: from a prior, a learner and a symptom to the sufficiency of every label, with its error bar.

An engine is a module with a function of its own name; each says in its own way what ``program.paper.sufficiency``
means.
"""
