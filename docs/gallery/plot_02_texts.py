"""
Texts
=====

Short reviews of hotels. A rule that was meant for complaints marked every review with the word "lift" as negative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug as psi

rng = np.random.default_rng(0)
GOOD = ["lovely", "clean", "quiet", "friendly", "bright", "spotless", "generous", "cosy"]
BAD = ["dirty", "loud", "rude", "broken", "dark", "smelly", "stale", "cramped"]
THINGS = ["room", "breakfast", "staff", "bed", "view", "lift", "pool", "garden", "street", "shower"]


def review(good):
    """Six opinions; one in five is not what the guest thinks of the whole."""
    words = [rng.choice(GOOD if (rng.random() < 0.8) == good else BAD) for _ in range(6)]
    return " ".join(f"{word} {thing}" for word, thing in zip(words, rng.choice(THINGS, 6, replace=False), strict=True))


truth = rng.random(1200) < 0.5
texts = np.array([review(good) for good in truth])
names = np.where(truth, "positive", "negative")
X_train, X_test, y_true, y_test = texts[:800], texts[800:], names[:800], names[800:]

# the bug; it also hits "lift" in reviews that praise it
has_lift = np.array(["lift" in text for text in X_train])
y_train = np.where(has_lift & (rng.random(800) < 0.9), "negative", y_true)
print(X_train[0], "→", y_train[0])

# %%
# The features are the texts themselves: Psi takes the Pipeline as it is, and looks for words that suspects share.

model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
diagnosis = psi.debug(model, list(X_train), y_train, list(X_test), y_test, progress=False)
print(diagnosis.verdict)

# %%
diagnosis.slices[["condition", "given", "rows", "suspects", "corrected"]]

# %%
# The first suspects with their texts. In a terminal, ``psi review`` shows them one by one.

diagnosis.look_at(5)

# %%
# Which words do the corrected labels share? All things are named equally often; only one of them is a cause.

corrected = diagnosis.repaired_labels != y_train
shares = [np.mean([thing in text for text in X_train[corrected]]) for thing in THINGS]
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.bar(THINGS, shares)
axes.set(ylabel="share of corrected reviews")

# %%
print(f"wrong before: {(y_train != y_true).sum()}, wrong after: {(diagnosis.repaired_labels != y_true).sum()}")
