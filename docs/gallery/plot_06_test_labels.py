"""
Wrong test labels
=================

The model is right and the test set is wrong. Correcting training labels would make it worse, so Psi leaves them alone.
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
X_train, X_test, y_train, y_true = train_test_split(data.data, labels, test_size=0.4, random_state=0)
y_test = y_true.mask(X_test["mean radius"] > 18, "benign")  # the bug is in the test set

model = make_pipeline(StandardScaler(), LogisticRegression())
diagnosis = psi.debug(model, X_train, y_train, X_test, y_test, progress=False)
print(diagnosis.verdict)

# %%
# The cause has a name that programs can read.

print(diagnosis.cause)

# %%
# The test labels in question, likeliest wrong first, by the index of the table. ``diagnosis.suspect_tests`` is the data
# frame of them, and ``psi review`` is where people decide about them.

diagnosis.look_at(5, test=True)

# %%
# They have something in common, which the verdict names.

p_wrong = diagnosis.suspect_tests.set_index("row")["p_wrong"]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.scatter(X_test["mean radius"], p_wrong.reindex(X_test.index, fill_value=0), c=y_test == "benign", s=12)
axes.set(xlabel="mean radius of the test row", ylabel="p_wrong", title="Yellow: labelled benign")

# %%
# No training label is touched.

print("training labels changed:", int((diagnosis.repaired_labels != y_train).sum()))

# %%
# We know which test labels are wrong. How many of them are among the suspects?

wrong = set(y_test.index[y_test != y_true])
asked = list(diagnosis.suspect_tests["row"][: len(wrong)])
print(f"{sum(row in wrong for row in asked)} of the first {len(asked)} are wrong; {len(wrong)} are in all")
