"""What the page of causes says in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ABOUT = """# Which cause is it?

A model errs on new rows. Wrong training labels are one cause among others. `psidebug.debug(...)` asks about all of them
and says which one it is:

```python
diagnosis = psidebug.debug(model, X_train, y_train, X_test, y_test)
diagnosis.cause          # its name: "unit"
diagnosis.causes         # all that were found: where, how much each explains, whether it is proved, what to do
diagnosis.suspect_tests  # test labels that are probably wrong
```

Causes have an order: the one whose repair raises the log likelihood of the test rows most comes first (`evidence`, in
nats; `share` is the part of the test log loss). A cause is `proved` if the learner, trained on the repaired rows, gains
clearly, and more than by its control: the same change to another column, by chance, or to as many other rows
(`control`, in nats). Where there is no other column nothing is proved, and tables say "no control". `causes="labels"`
asks about training labels only.

What the rows show comes first. It is repaired, one cause at a time, and then labels are weighed: a column in another
unit makes many labels look wrong.

A repair can be written, into the table that is at fault, and into no other cell:

```python
diagnosis.repaired_table("unit", test=True)      # the test rows, in the right unit; trace=True adds was_…
```

On the command line that is `psi apply psi-run --cause unit --tests -o fixed_test.csv`, without `--tests` for training
rows. `unit` is rescaled, a `missing_code` made missing, `swapped_columns` get their names back, copies of rows are left
out (`duplicates`), classes are spelled in one way (`label_spelling`), and a `leak` or `dead_column` gets one value. If
the file is as it was, its other cells stay as they are written. `--trace` adds a column `was_…` for each that differs.

## The causes
"""

CAUSES = (
    (
        "training_labels",
        "Training labels are wrong, at random or in a slice.",
        "Wrong labels explain the labels of both sets better than anything else, by predictors that did not see them.",
        "Look at `suspects`; take `repaired_labels`.",
    ),
    (
        "test_labels",
        "Test labels are wrong.",
        "The same with the two sets exchanged. If both sets could be the wrong one, validation rows decide, or "
        "predictors that know no label of the slice.",
        "Put the labels in `suspect_tests` right: look at them in `psi review`, then `psi apply --tests --reviewed`. "
        "The training labels stay. The advice has the error with and without them.",
    ),
    (
        "unit",
        "A column has another unit in one set, or in some rows.",
        "Values are distributed as in the other set times a factor between units in use, such as 12, 60, 1000 or 2.54.",
        "Bring the column to one unit. The advice has the factor.",
    ),
    (
        "missing_code",
        'A value such as -999 or "unknown" stands for no value; or cells are missing in one set only.',
        "The value is frequent in one set and rare in the other, and lies apart from all other values.",
        "Make it a missing value, or find out why cells are missing.",
    ),
    (
        "swapped_columns",
        "Two columns of numbers have changed places.",
        "Each is distributed as the other one is in the other set.",
        "Give them their names back.",
    ),
    (
        "dead_column",
        "A column no longer belongs to its rows, or means something else: it was shuffled, shifted, renamed or is full "
        "of noise.",
        "It hangs together with other columns in one set and with none in the other; or what speaks against labels is "
        "gone without it.",
        "Look how it was joined. Without an answer, leave it out.",
    ),
    (
        "leak",
        "A column was made from the training labels, or after them.",
        "Alone it tells far more about the training labels than any other column, and little about the test labels.",
        "Leave it out.",
    ),
    (
        "duplicates",
        "Training rows are there many times.",
        "Equal rows are more frequent within training than between the sets.",
        "Keep one of each, with the label that is right.",
    ),
    (
        "class_shares",
        "A class is rarer or more frequent in training than in the test set.",
        "Shares of the labels differ, and the rows have changed with them. Wrong labels leave the rows as they are.",
        "Weigh the rows of each class by its share among new rows, or collect more.",
    ),
    (
        "under_represented",
        "Rows of a kind are hardly there in training.",
        "Far fewer training rows have a value, or lie in a range, than the test rows of each class let expect.",
        "Collect more of them. The advice says what some more are worth.",
    ),
    (
        "capacity",
        "The learner is too weak or too strong, or its options are wrong.",
        "Another learner, trained on the same rows, does far better on unseen rows of both sets.",
        "Change the learner or its options.",
    ),
    (
        "label_spelling",
        "One class is spelled in several ways.",
        "Names of classes differ in blanks, capitals or form only.",
        "Spell each class in one way.",
    ),
    ("none", "Nothing is found.", "No cause above shows.", "The errors may be what these rows allow."),
    (
        "cannot_say",
        "Nothing can be said.",
        "There are too few test rows, or the classes overlap so much that wrong labels would not be noticed.",
        "Give more test rows.",
    ),
)

MEASURED = """## Measured

`psi bench causes` makes this page from its files of results. Something is planted in five tables (census, an online
shop, sensors, digits, tumours), for a logistic regression and boosted trees. Psi is called with all defaults but one:
the fidelity of the gray box is not measured. It gets the rows, and columns with a source and a date. The numbers in
`policy.py` were chosen with seeds from 1000 on, of these tables and of five others with other plants. Misses of seeds
0, 1, 2 and 30 were looked at and mended, so that these are left out here. Other tables are the real test.
"""

HARM = """## Labels that are right

How many right labels would `repaired_labels` change where training labels are not the cause? *Largest* is the largest
share of the training rows; *worse* are runs in which the learner trained on `repaired_labels` has more errors on
validation rows than before, by more than chance. Runs with validation rows are counted, too. Plants are shown that some
label was changed for.
"""

MORE = """## Corruptions that others use

Psi has no cause for some of them. The expected one is the nearest. These plants chose no number of Psi.
"""

PAIRS = """## Two causes at once

*First*: the cause named first is one of the two. *Both*: both are named, with the right columns.
"""

TOOLS = """## Other tools

The same tasks, with the logistic learner. A tool *names* the cause if one of its issues stands for it, by the
generous list below. It *tells it apart* if that issue is not raised on the same table with nothing planted. *Others*
are issues beside it, in the mean. With nothing planted, a tool is right if it raises nothing. Psi is counted likewise,
by all causes that it names, whatever their order. Slow tools were measured on fewer tables. Seconds are those of one
core; work in other processes is not counted. The plants were made for the causes that Psi knows, and Psi was developed
with them; the others were made for other ends and had no tuning, so this flatters Psi. All lines here are of seed 0,
and those of Psi of commit 9c11267, before its last mends.
Deepchecks ran with NumPy 1.26 and scikit-learn 1.6: with NumPy 2 it fails, with scikit-learn 1.9 it cannot be imported.
"""

WRONG_CELLS = """## Wrong cells in real tables

Nobody planted these: Raha's tables are there as they were found and as people corrected them, cell by cell. One set is
dirty and the other clean, or both are clean; labels are right in all. Beers are read twice: what is not a number is
missing, and as written. Times and dates that are written otherwise are missing.
A seed is a random split.

The truth is the columns whose cells differ between the versions, as the learner gets them. A *wrong column* is *named*
if any cause names it, or, in the next column of the table, a check before the diagnosis. *Other causes* name no such
column; with clean sets all but `none` and `cannot_say` do. *Right labels changed* is a share of the training rows. Only
what differs between the sets can be seen: which of them is the wrong one, and what its cells should be, nobody can tell
from these two tables. (The clean dates of rayyan have day, year and month; the dirty ones look like the usual order.)
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
