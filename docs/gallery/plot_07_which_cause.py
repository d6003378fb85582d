"""
Which cause is it?
==================

Labels are not the only thing that goes wrong. Here one hospital sent a column in centimetres, and all others in
millimetres.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug as psi

data = load_breast_cancer(as_frame=True)
columns = ["mean radius", "mean texture", "mean smoothness", "mean concavity"]
labels = data.target.map(dict(enumerate(data.target_names)))
X_train, X_test, y_train, y_test = train_test_split(data.data[columns], labels, test_size=0.4, random_state=0)
X_test = X_test.copy()
centimetres = np.random.default_rng(0).random(len(X_test)) < 0.4
X_test.loc[centimetres, "mean radius"] /= 10  # the bug

model = make_pipeline(StandardScaler(), LogisticRegression())
diagnosis = psi.debug(model, X_train, y_train, X_test, y_test, progress=False)
print(diagnosis.verdict)

# %%
# Everything that competed, with its evidence and what to do about it.

diagnosis.causes[["cause", "where", "evidence", "proved", "advice"]]

# %%
# Repair that cause and nothing else, and look at the column. The table comes with its labels.

repaired = diagnosis.repaired_table(diagnosis.cause, test=True)[columns]
figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharex=True, sharey=True, layout="constrained")
for panel, (title, table) in zip(panels, {"as given": X_test, "repaired": repaired}.items(), strict=True):
    panel.hist(X_train["mean radius"], bins=30, alpha=0.4, density=True, label="training")
    panel.hist(table["mean radius"], bins=30, alpha=0.6, density=True, label="test")
    panel.set(title=title, xlabel="mean radius")
panels[0].legend()

# %%
model.fit(X_train, y_train)
print(f"accuracy as given: {model.score(X_test, y_test):.3f}, repaired: {model.score(repaired, y_test):.3f}")
