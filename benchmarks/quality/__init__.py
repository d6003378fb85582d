"""How well Psi finds and repairs known errors, and how well its gray boxes follow retraining."""
