"""Data, labels and learner, checked once at the door: behind it everything is well-formed."""
