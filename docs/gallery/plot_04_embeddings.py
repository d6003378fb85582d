"""
A net's embeddings
==================

The net was trained elsewhere, and you have only what it makes of each row: its embeddings, and its probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.neural_network import MLPClassifier

import psidebug as psi

X, y = load_digits(return_X_y=True)
X_train, X_test, y_true, y_test = train_test_split(X / 16, y, train_size=900, random_state=0, stratify=y)
rng = np.random.default_rng(0)
y_train = np.where(rng.random(900) < 0.1, rng.integers(0, 10, 900), y_true)  # one label in ten is drawn at random

net = MLPClassifier((64,), max_iter=60, early_stopping=True, random_state=0).fit(X_train, y_train)

# %%
# What leaves the machine that the net is on. Probabilities of training rows must be out of fold: a net that was trained
# on a wrong label has learned to believe it.


def hidden(rows):
    """What the layer before the last one makes of the rows."""
    return np.maximum(rows @ net.coefs_[0] + net.intercepts_[0], 0)


embeddings, embeddings_test = hidden(X_train), hidden(X_test)
probabilities = cross_val_predict(net, X_train, y_train, cv=3, method="predict_proba")
probabilities_test = net.predict_proba(X_test)

# %%
# No model is given. Psi trains a logistic head on the embeddings, and what is proved is proved for it. The
# probabilities are one opinion among those that decide which labels are wrong. (:doc:`../nets` is about nets at hand.)

diagnosis = psi.debug(
    None,
    embeddings,
    y_train,
    embeddings_test,
    y_test,
    pred_probs=probabilities,
    pred_probs_test=probabilities_test,
    progress=False,
)
print(diagnosis.verdict)

# %%
# Where are they? Two dimensions of the embeddings, with the corrected rows in red.

flat = PCA(2, random_state=0).fit_transform(embeddings)
figure, axes = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
axes.scatter(*flat.T, c=y_true, cmap="tab10", s=8, alpha=0.5)
changed = diagnosis.repaired_labels != y_train
axes.scatter(*flat[changed].T, facecolors="none", edgecolors="red", s=40, label="corrected")
axes.set(xticks=[], yticks=[], title="Colour: the true digit")
axes.legend()

# %%
print(f"wrong before: {(y_train != y_true).sum()}, wrong after: {(diagnosis.repaired_labels != y_true).sum()}")
