"""``python -m psidebug.cli.manual > docs/commands.md``: the manual page of all commands, from their own help."""

from __future__ import annotations

import inspect

import click

from psidebug.cli import COMMANDS, psi
from psidebug.cli import settings as settings_module

HEAD = """# Commands

Generated from the help texts: `python -m psidebug.cli.manual > docs/commands.md`.

Results go to stdout, as text or with `--json` as [JSON](#json). Errors go to stderr, and so does progress if stderr is
a terminal. `-v` prints details and tracebacks, `-q` only errors. `NO_COLOR=1` turns colours off.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | more labels are proved wrong than `--fail-above` allows |
| 2 | wrong usage or input, or an internal error; one sentence on stderr says what to do |
| 130 | interrupted; nothing was left half-written |
| 141 | the reader of the output is gone, as in `psi suspects psi-run \\| head` |
"""


SUSPECT = {
    "row": "id of the training row, or its position from 0",
    "given": "its label",
    "proposed": "the label that it should probably have",
    "ps": "probability of sufficiency",
    "ps_low": "its bounds",
    "ps_high": "",
    "p_wrong": "probability that the label is wrong",
}
SLICE = {
    "condition": "what its rows have in common",
    "given": "their label",
    "rows": "how many there are",
    "suspects": "share of them among the first suspects",
    "ps": "of the whole group",
    "z": "how far it stands out, in standard errors",
    "p_value": "corrected for the number of slices searched",
    "corrected": "labels that its correction changes",
    "gain": "by retraining, in nats of the test log loss",
    "test_error": "after the correction",
}
EFFECT = {
    "corrected": "labels changed",
    "test_before": "misclassified test rows, and how many there are: `wrong`, `of`",
    "test_after": "",
    "validation_before": "the same of validation rows; null without",
    "validation_after": "",
    "bugs_fixed": "misclassified test rows that are right afterwards",
    "points_broken": "test rows that were right and are wrong afterwards",
    "gain": "in nats of the test log loss",
    "gain_error": "its standard error",
    "log_loss_before": "mean log loss of the test set",
    "log_loss_after": "",
    "validation_broken": "the same of validation rows; null without",
    "validation_gain": "in nats; null without",
}
WRITTEN = {"written": "the file", "rows": "how many rows it has"}

KEYS: dict[str, dict[str, str]] = {
    "debug": {
        "verdict": "the result in two sentences",
        "notes": "caveats",
        "test_rows": "how many there are",
        "bugs": "how many of them are misclassified",
        "corrected": "labels that the verified correction changes",
        "error": "error rates `before` and `after` it, on `test` and `validation` rows; empty without a correction",
        "slices": "a list, at most 100, as of `psi slices` without `slice`",
        "suspects": "a list, at most 100, as of `psi suspects`",
        "suspects_in_all": "how many there are",
        "settings": "the options and choices of the run",
        "built": "the learner that was built, as lines of text; empty with `--model`",
        "run": "the directory",
        "report": "the page, or null",
        "failed": "whether more labels are proved wrong than `--fail-above` allows",
    },
    "suspects": {"suspects": "a list, most likely wrong first", "of": "how many there are"},
    "suspects, each": SUSPECT,
    "slices, a list, each": {"slice": "its number for `psi verify --slice`", **SLICE},
    "explain, a list without TEST_ROW, each": {
        "test_row": "id of the test row, or its position",
        "position": "its position, from 0",
        "label": "its label",
        "predicted": "what the model predicts",
        "after": "what it predicts after the correction; absent without one",
    },
    "explain, with TEST_ROW": {
        "test_row": "id of the test row, or its position",
        "position": "its position, from 0",
        "given": "its label",
        "predicted": "what the model predicts",
        "told": "the answer in sentences",
        "causes": "a list as of `psi suspects`",
        "of": "how many causes there are",
        "smallest": "ids of the rows of the smallest correction found that repairs it, or null",
        "test_label_doubt": "why the test label itself may be wrong, or null",
        "fits": "fits that the search took",
    },
    "verify": {
        "correction": "its effect; null if there is nothing to correct",
        "at_random": "the effect of moving as many random labels; null if that cannot be trained",
        "highest_loss": "the effect of moving as many labels of highest loss",
        "proved": "whether retraining proves it, by the same rule as the run itself",
        "failed": "whether it is proved, and more labels than `--fail-above` allows",
    },
    "verify, each effect": EFFECT,
    "apply": {**WRITTEN, "corrected": "labels that differ from those given"},
    "report": {"written": "the page", "bytes": "its size"},
    "export": {**WRITTEN, "written": "the file; with `--format label-studio` there is also `configuration`"},
    "compare": {
        "same": "for each part of the input (`train`, `test`, `rows`, `learner`), whether both runs have the same",
        "same_inputs": "whether all parts are the same",
        "verdicts": "of both",
        "effects": "of both: `corrected`, and error rates `test_before`, `test_after`, `validation_before`, "
        "`validation_after`",
        "top": "how many first suspects are compared",
        "shared": "how many of them both runs have",
        "overlap": "shared / (rows in either list)",
        "settings": "settings that differ, with both values",
    },
}
"""What the JSON of each command holds; a test compares it with what is printed."""


def manual() -> str:
    """The page."""
    context = click.Context(psi, info_name="psi", max_content_width=100, terminal_width=100)
    listed = "\n".join(f"| [`psi {name}`](#psi-{name}) | {line} |" for name, line in COMMANDS.items())
    parts = [HEAD, f"| command | |\n|---|---|\n{listed}\n", _settings()]
    for name in COMMANDS:
        command = psi.get_command(context, name)
        assert command is not None
        with click.Context(command, info_name=name, parent=context, help_option_names=["-h", "--help"]) as its_own:
            text = command.get_help(its_own)
        parts.append(f"## psi {name}\n\n```\n{text.rstrip()}\n```\n")
    return "\n".join([*parts, _keys()])


def _keys() -> str:
    """The part of the manual about JSON."""
    lines = [
        "## JSON",
        "",
        "`--json` prints one JSON document to stdout and nothing else; NaN is null. A later version may add keys; none "
        "goes away or changes its meaning within a version.",
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


def _settings() -> str:
    """The rules of settings, from their module."""
    first, _, rest = (inspect.getdoc(settings_module) or "").partition("\n\n")
    rest = rest.replace("``", "`")
    before, _, table = rest.partition("::\n\n")
    block, _, after = table.partition("\n\n")
    shown = "\n".join(line.removeprefix("    ") for line in block.splitlines())
    return f"## Settings\n\n{first} {before.strip()}:\n\n```\n{shown}\n```\n\n{after.strip()}\n"


if __name__ == "__main__":
    print(manual(), end="")
