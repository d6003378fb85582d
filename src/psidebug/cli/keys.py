"""What the JSON of each command holds, key by key, for the manual; a test compares it with what is printed."""

from __future__ import annotations

SUSPECT = {
    "row": "id of the training row, or its position from 0",
    "given": "its label",
    "proposed": "the label that it probably should have",
    "ps": "probability of sufficiency",
    "ps_low": "and its bounds",
    "ps_high": "",
    "p_wrong": "how likely the label is wrong",
}
SLICE = {
    "condition": "what its rows have in common",
    "given": "the label that they carry",
    "rows": "how many they are",
    "suspects": "share of them among the first suspects",
    "ps": "of the whole group",
    "z": "standard errors by which it stands out",
    "p_value": "corrected for all that was looked at",
    "corrected": "labels that its correction changes",
    "gain": "by retraining, in nats of the test log loss",
    "test_error": "after the correction",
}
EFFECT = {
    "corrected": "labels changed",
    "test_before": "test rows that are wrong, and of how many: `wrong`, `of`",
    "test_after": "",
    "validation_before": "the same of validation rows; null without",
    "validation_after": "",
    "bugs_fixed": "misclassified test rows that are right after it",
    "points_broken": "test rows that were right and are wrong after it",
    "gain": "in nats of the test log loss",
    "gain_error": "its standard error",
    "log_loss_before": "mean log loss of the test set",
    "log_loss_after": "",
    "validation_broken": "validation rows that were right and are wrong after it; null without",
    "validation_gain": "in nats; null without",
}
WRITTEN = {"written": "the file", "rows": "how many rows it has"}

KEYS: dict[str, dict[str, str]] = {
    "debug": {
        "verdict": "the result in two sentences",
        "notes": "what to bear in mind",
        "test_rows": "how many there are",
        "bugs": "how many of them are misclassified",
        "corrected": "labels that the verified correction changes",
        "error": "error rates `before` and `after` it on `test` and `validation` rows; empty without a correction",
        "slices": "a list, at most 100, as of `psi slices` without `slice`",
        "suspects": "a list, at most 100, as of `psi suspects`",
        "suspects_in_all": "how many there are",
        "settings": "how it was decided",
        "built": "the learner that was built, in lines; empty with `--model`",
        "run": "the directory",
        "report": "the page, or null",
        "failed": "whether more labels are wrong than `--fail-above` allows",
    },
    "suspects": {"suspects": "a list, the likeliest wrong first", "of": "how many there are"},
    "suspects, each": SUSPECT,
    "slices, a list, each": {"slice": "its number for `psi verify --slice`", **SLICE},
    "explain, a list without TEST_ROW, each": {
        "test_row": "id of the test row, or its position",
        "position": "its position, from 0",
        "label": "its label",
        "predicted": "what the model says instead",
        "after": "what it says after the correction; not there without one",
    },
    "explain, with TEST_ROW": {
        "test_row": "id of the test row, or its position",
        "position": "its position, from 0",
        "given": "its label",
        "predicted": "what the model says instead",
        "told": "the answer in sentences",
        "causes": "a list as of `psi suspects`",
        "of": "how many causes there are",
        "smallest": "ids of the rows of the smallest correction found that repairs it, or null",
        "test_label_doubt": "why the test label itself may be wrong, or null",
        "fits": "that the search took",
    },
    "verify": {
        "correction": "its effect; null if there is nothing to correct",
        "at_random": "that of as many labels moved at random; null if it cannot be trained",
        "highest_loss": "that of as many labels of highest loss",
        "proved": "whether retraining proves it, by the same rule as the run itself",
        "failed": "whether it is proved, and more labels than `--fail-above` allows",
    },
    "verify, each effect": EFFECT,
    "apply": {**WRITTEN, "corrected": "labels that differ from those given"},
    "report": {"written": "the page", "bytes": "its size"},
    "export": {**WRITTEN, "written": "the file; `configuration` beside it with `--format label-studio`"},
    "compare": {
        "same": "of each part of the input (`train`, `test`, `rows`, `learner`) whether it is the same in both runs",
        "same_inputs": "whether all are",
        "verdicts": "of both",
        "effects": "of both: `corrected`, and error rates `test_before`, `test_after`, `validation_before`, "
        "`validation_after`",
        "top": "how many first suspects are compared",
        "shared": "how many of them are in both",
        "overlap": "shared / (rows in either list)",
        "settings": "those that differ, with both values",
    },
}
"""By the command, and which of its parts."""


def keys_page() -> str:
    """The part of the manual about JSON."""
    lines = [
        "## JSON",
        "",
        "With `--json` there is one JSON document on stdout and nothing else; what is not a number is null. Keys may "
        "be added, and none goes away or changes its meaning within a version.",
        "",
        "| command | key | |",
        "|---|---|---|",
    ]
    for command, keys in KEYS.items():
        for place, (key, meaning) in enumerate(keys.items()):
            name, _, part = command.partition(", ")
            shown = f"`psi {name}`{', ' * bool(part)}{part}" if place == 0 else ""
            lines.append(f"| {shown} | `{key}` | {meaning} |")
    return "\n".join(lines) + "\n"
