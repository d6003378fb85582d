"""
Files larger than memory
========================

Training rows in many Parquet files are read in blocks; nothing with a line for each row is held in memory. The files
here are small, so that this page takes seconds. :doc:`../scale` has the figures up to ten million rows.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug as psi

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
weights = np.array([2.0, -1.5, 1.0, 0.5, 0.0, 0.0])


def rows(count):
    """Features and right labels of so many rows."""
    X = rng.normal(size=(count, 6))
    return X, np.where(X @ weights + rng.logistic(size=count) * 0.3 > 0, "yes", "no")


def write(file, X, y):
    """One Parquet file: a column for each feature, and the label."""
    pq.write_table(pa.table({**{f"c{at}": X[:, at] for at in range(6)}, "label": y}), file)


# %%
# Eight files. In all of them, rows with a large ``c2`` were marked "no".

truth = []
for part in range(8):
    X, y = rows(5_000)
    truth.append(y)
    write(folder / f"train-{part}.parquet", X, np.where(X[:, 2] > 1.2, "no", y))
write(folder / "test.parquet", *rows(1_000))

# %%
# The training rows are a pattern, and the labels the name of a column.

model = make_pipeline(StandardScaler(), LogisticRegression())
diagnosis = psi.debug(
    model,
    str(folder / "train-*.parquet"),
    "label",
    str(folder / "test.parquet"),
    "label",
    run=folder / "psi-run",
    progress=False,
)
print(diagnosis.verdict)

# %%
# Every label is in a file of the run, with its repaired value.

labels = pq.read_table(folder / "psi-run" / "labels_of_all.parquet")
print(labels.schema.names)
labels.slice(0, 5).to_pandas()

# %%
right = np.concatenate(truth)
wrong = {
    name: (np.array(labels[name].to_pylist()) != right).reshape(8, -1).sum(axis=1) for name in ("given", "repaired")
}
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for shift, (name, counts) in zip((-0.2, 0.2), wrong.items(), strict=True):
    axes.bar(np.arange(8) + shift, counts, 0.4, label=f"{name}: {counts.sum()} in all")
axes.set(xlabel="file", ylabel="wrong labels of 5,000")
axes.legend()
