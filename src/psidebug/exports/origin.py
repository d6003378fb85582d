"""What a file that leaves Psi says about where it came from."""

from __future__ import annotations

import hashlib
import json

from psidebug.store import Run


def training_set(run: Run) -> str:
    """A short digest of the training rows, their given labels and ids: what verdicts are about."""
    said = json.dumps([run.fingerprint.get(name) for name in ("train", "rows")])
    return hashlib.sha256(said.encode()).hexdigest()[:16]
