"""
Pictures
========

Handwritten digits, ten classes. Whoever sorted them took sevens of a thick pen for ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import psidebug as psi

X, y = load_digits(return_X_y=True)
X_train, X_test, y_true, y_test = train_test_split(X, y, train_size=900, test_size=400, random_state=0, stratify=y)
y_train = y_true.copy()
ink = X_train.sum(axis=1)
y_train[(y_true == 7) & (ink > 280)] = 1  # the bug

# %%
# A support vector machine is debugged as it is. ``images`` says that a row is a picture, so that reports, the review
# app and notebooks show it as one.

diagnosis = psi.debug(SVC(gamma=0.001), X_train, y_train, X_test, y_test, images=(8, 8), progress=False)
print(diagnosis.verdict)

# %%
diagnosis.look_at(6)

# %%
# The same with matplotlib: the first twelve suspects, as they were labelled and as Psi would label them.

suspects = diagnosis.suspects.head(12)
figure, panels = plt.subplots(2, 6, figsize=(8, 3.4), layout="constrained")
for panel, suspect in zip(panels.flat, suspects.itertuples(), strict=True):
    panel.imshow(X_train[suspect.row].reshape(8, 8), cmap="gray_r")
    panel.set_title(f"{suspect.given} → {suspect.proposed}  ({suspect.p_wrong:.2f})", fontsize=9)
    panel.axis("off")

# %%
print(f"wrong before: {(y_train != y_true).sum()}, wrong after: {(diagnosis.repaired_labels != y_true).sum()}")
