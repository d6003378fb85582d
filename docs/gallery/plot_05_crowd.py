"""
Crowd labels
============

Several people answer the same question, and the majority is the label. One of them has misunderstood the task.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psidebug as psi

data = load_breast_cancer()
truth = data.target_names[data.target]
X_train, X_test, y_true, y_test = train_test_split(data.data, truth, random_state=0)

rng = np.random.default_rng(0)
answers = pd.DataFrame(dict.fromkeys(("ann", "bob", "cid", "dan"), y_true)).astype(object)
answers.loc[(y_true == "malignant") & (rng.random(len(y_true)) < 1 / 3), "dan"] = "benign"  # dan's misunderstanding
answers = answers.mask(rng.random(answers.shape) < 0.5)  # each is asked about half of the rows
answered = answers.notna().any(axis=1).to_numpy()
answers, X_train, y_true = answers[answered].reset_index(drop=True), X_train[answered], y_true[answered]
y_train = answers.mode(axis=1)[0].to_numpy()
answers.head()

# %%
# Give Psi the answers as they are. Rows with answers are judged by these, not by the majority.

model = make_pipeline(StandardScaler(), LogisticRegression())
diagnosis = psi.debug(model, X_train, y_train, X_test, y_test, annotations=answers, progress=False)
print(diagnosis.verdict)

# %%
# Who errs, and how?

diagnosis.annotators

# %%
# The same as a picture, beside the truth that only we know: the share of answers that are wrong.

told = diagnosis.answers.groupby("annotator")["p_wrong"].mean()
in_truth = pd.Series({name: (answers[name].dropna() != y_true[answers[name].notna()]).mean() for name in answers})
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
pd.DataFrame({"by Psi": told, "in truth": in_truth}).plot.bar(ax=axes, rot=0, ylabel="wrong answers")

# %%
# Which answers are wrong, and which rows should be asked again, and whom?

diagnosis.answers.head()

# %%
diagnosis.ask_again.head()

# %%
wrong = {"majority": y_train != y_true, "after Psi": diagnosis.repaired_labels != y_true}
print({name: int(rows.sum()) for name, rows in wrong.items()})
