"""
A pipeline in CI
================

New labels arrive every night. The pipeline must stop when they are broken, and say why.
"""

# %%
# Three doors to the same check. On the command line, which exits with 1 if more than ten labels are proved wrong:
#
# .. code-block:: sh
#
#    psi debug train.csv test.csv --label label --fail-above 10
#
# In GitHub Actions, with a summary on the page of the job:
#
# .. code-block:: yaml
#
#    - uses: OWNER/psi@main
#      with: {train: train.csv, test: test.csv, label: label, fail-above: "10"}
#
# And in pytest, as a test among your others:
#
# .. code-block:: python
#
#    def test_labels(psi_check):
#        psi_check(model, X_train, y_train, X_test, y_test, at_most=10)
#
# This page runs the first.

import contextlib
import io
import json
import tempfile

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from psidebug.cli.group import run_command

data = load_breast_cancer(as_frame=True)
table = data.frame.rename(columns={"target": "label"})
table["label"] = table["label"].map({0: "malignant", 1: "benign"})
train, test = train_test_split(table, random_state=0)

# %%
# ``run_command`` is what the command ``psi`` calls. With ``--json`` the answer is for programs.


def nightly_check(train):
    """The first of the three: its exit code, and the answer."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
        train.to_csv(f"{folder}/train.csv", index=False)
        test.to_csv(f"{folder}/test.csv", index=False)
        files = [f"{folder}/{name}" for name in ("train.csv", "test.csv", "psi-run")]
        options = ["--label", "label", "--fail-above", "10", "--json", "--quiet"]
        code = run_command(["debug", *files[:2], "--output", files[2], *options])
    return code, json.loads(printed.getvalue())


# %%
# On Monday the labels are as always. On Tuesday a script has marked every large tumour benign. The build is red, and
# says why.

broken = train.copy()
broken.loc[broken["mean radius"] > 18, "label"] = "benign"
nights = {"Monday": nightly_check(train), "Tuesday": nightly_check(broken)}
for night, (code, answer) in nights.items():
    print(f"{night}: exit code {code}. {answer['verdict']}\n")

# %%
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
counts = [answer["corrected"] for _, answer in nights.values()]
axes.bar([0, 1], counts, color=["tab:green", "tab:red"], tick_label=list(nights))
axes.axhline(10, color="grey", linestyle=":")
axes.set(ylabel="labels proved wrong", title="The dotted line is --fail-above")
