"""Data to debug: the demo's digits; later the paper's four benchmarks."""
