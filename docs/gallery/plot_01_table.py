"""
A table
=======

A script marked every large tumour benign. Nobody knows. The model that is trained on these labels is wrong about large
tumours of the test set, and sure of itself.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug as psi

data = load_breast_cancer(as_frame=True)
labels = data.target.map(dict(enumerate(data.target_names)))
X_train, X_test, y_true, y_test = train_test_split(data.data, labels, random_state=0)
y_train = y_true.mask(X_train["mean radius"] > 18, "benign")  # the bug

# %%
# One call. The model may be fitted or not; it is never changed.

model = make_pipeline(StandardScaler(), LogisticRegression())
diagnosis = psi.debug(model, X_train, y_train, X_test, y_test, progress=False)
print(diagnosis.verdict)

# %%
# The suspects, best first. ``p_wrong`` is the probability that the label is wrong, ``ps`` the probability that it is
# sufficient to cause the errors. The index of the pandas table names the rows.

diagnosis.suspects.head()

# %%
# What they have in common, and what to train on instead.

diagnosis.slices[["condition", "given", "rows", "suspects", "corrected"]]

# %%
diagnosis.repairs

# %%
# How many suspects to correct? The error falls while wrong labels are corrected, and rises when right ones follow.

curve = diagnosis.threshold_curve
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.plot(curve["corrected"], curve["test_error"], marker="o")
axes.axvline(diagnosis.correction.verified.corrected, color="grey", linestyle=":")
axes.set(xlabel="suspects corrected", ylabel="test error", title="The dotted line is where Psi stops")

# %%
# Since we planted the bug, we can count: how many of the corrected labels are now right?

repaired = diagnosis.repaired_labels
print(f"wrong before: {(y_train != y_true).sum()}, wrong after: {(repaired != y_true).sum()}")
print(f"test accuracy before: {model.fit(X_train, y_train).score(X_test, y_test):.3f}")
print(f"test accuracy after:  {model.fit(X_train, repaired).score(X_test, y_test):.3f}")
