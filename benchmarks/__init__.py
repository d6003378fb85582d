"""What Psi is judged by: the paper's evaluation, its peers on the same rows, quality on known errors, and speed.

A package beside the product, in a checkout only: Psi never needs it, so it is not in the wheel. ``README.md`` here says
what each part measures and how to run it.
"""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
RESULTS = CHECKOUT / "benchmarks" / "results"
"""Where the measured lines are kept that the documentation is made from."""
