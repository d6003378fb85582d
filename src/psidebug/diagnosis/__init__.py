"""From scores to verified root causes: ranking, slices, verification by retraining, the diagnosis itself."""
