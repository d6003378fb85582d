"""What the page of speed says in words."""

from __future__ import annotations

from benchmarks.speed.alone import MOST_MEMORY
from benchmarks.speed.cases import HASHED, IN_SLICE, POINTS
from benchmarks.speed.run import TWICE_UP_TO

ABOUT = """# How fast Psi is

`psi bench speed` makes this page, its picture and the file of results. Every figure is processor time, with one thread.
Psi has three efforts. *rank* orders the suspects. *decide* also says what to correct. *prove* also proves it by
retraining, with controls. In one case the times of one fit, five folds, Psi, influence and BoostIn are of one machine
and one run: compare ratios, not seconds. Those of the other rivals are of an earlier run (see the last lines).
"""
PICTURE = """![Processor time against training rows for one fit, five folds, Psi and its rivals](images/speed.svg)
"""
GOALS = """## Goals

"At most" is the goal. A ratio of 2 means: twice the time. – : not measured.
"""
GROWTH = """## Time by number of rows

Processor seconds with 20 columns and two classes. *Growth* is the slope of log time on log rows, from 10,000 rows on:
1 means that twice the rows take twice the time.
"""
CASES = """## Every case

*Memory* is the peak above that of the loaded data, in MB, and as a multiple of the training data. *Fits* are those of
the user's learner. – : not measured; the reason is below.
"""
REASONS = """## Not measured, and why
"""
METHOD = f"""## How it was measured

- Rows are generated: 20 or 200 normal columns, or texts with words hashed to {HASHED:,} sparse columns. Classes follow
  linear scores, or, where there is no linear rule, a product, a wave and a fold of five columns. In one slice,
  {IN_SLICE:.0%} of the rows, all labels are class 0, though many of them belong to others. There are {POINTS:,} test
  rows with right labels.
- Learners are scikit-learn's logistic regression, and LightGBM with 100 trees of 31 leaves.
- Columns are independent and of one scale. Logistic regression then needs few iterations (7 for 10,000 rows of 20 or
  200 columns), so one fit is cheap. Ratios to a fit depend on that: columns that are harder to fit have others.
- Each measurement has a process of its own with one thread. It does the same on a few rows first, so that imports do
  not count. It loads the data and frees one large block, so that memory is reused as in a longer program. Time and
  memory count from there. What is short is done again for a second, at most twenty times, and the fastest counts.
  What takes up to {TWICE_UP_TO:.0f} s is measured in two processes, and the faster one counts.
  Processor time includes that of processes that a method starts.
- Fits: where classes follow linear scores, other predictors know as much as the learner, so its own folds are not
  needed (decision 30). Where they are needed, as with no linear rule, a decision of boosted trees takes 7 to 11 fits,
  three of them of the test rows alone (decision 41).
- Ratios differ between machines. On the one that measured the cases with no linear rule, where LightGBM takes a third
  longer and Psi's own work half longer, boosted decisions of 10,000 and 50,000 rows with a linear rule took 1.64 and
  1.08 times five folds, those of logistic regression 1.0 and 1.4 s.
- Fits run in several processes where that pays (decision 40). Here they do not: a process has one thread.
- Five folds are `cross_val_predict` with probabilities. cleanlab includes its five folds.
- A process that takes too long, by the clock on the wall, is stopped. Larger cases of the same method are then not
  tried. A process may use {MOST_MEMORY / 1e9:.0f} GB.
- KNN-Shapley and DataScope do not use the learner. They were measured once, and have the same line for both learners.
  They get standardised, dense columns, made before the clock starts. They need an older numpy, so they run in an
  environment of their own.
- CatBoost's importance has a CatBoost model of 100 trees of its own, whose fit is included. BoostIn and influence
  functions are our own code, not their authors' programs.
"""
