"""What was found: frozen, plain values, the same from a diagnosis just made and from a saved run."""
