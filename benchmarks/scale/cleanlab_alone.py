"""cleanlab on the same files: ``python -m benchmarks.scale.cleanlab_alone FOLDER ROWS`` prints JSON.

It takes out-of-fold probabilities of all rows in memory: the files are loaded, scikit-learn's logistic regression is
fitted in five folds, and its label issues are found in one process. Memory is the peak of the process.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from benchmarks.scale.sizes import COLUMNS, made


def measured(folder: Path) -> dict[str, float]:
    """Seconds of the processor for folds and issues, and memory."""
    from cleanlab.filter import find_label_issues

    begun = time.process_time()
    table = ds.dataset(sorted(map(str, folder.glob("train*.parquet")))).to_table()
    features, labels = np.column_stack([table[name].to_numpy() for name in COLUMNS]), table["y"].to_numpy().astype(int)
    del table
    said = cross_val_predict(LogisticRegression(), features, labels, cv=5, method="predict_proba")
    folds = time.process_time() - begun
    found = find_label_issues(labels, said, n_jobs=1)
    return {
        "rows": len(labels),
        "folds": folds,
        "in_all": time.process_time() - begun,
        "issues": int(found.sum()),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    made(where, int(sys.argv[2]))
    print(json.dumps(measured(where)))
