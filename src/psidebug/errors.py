"""Everything that can go wrong, as one tree: every class says what it means, and its base what kind of error it is."""

from __future__ import annotations


class PsiError(Exception):
    """Every error Psi raises on purpose; its message says what to do.

    Examples
    --------
    >>> import psidebug
    >>> from sklearn.linear_model import LogisticRegression
    >>> try:
    ...     psidebug.debug(LogisticRegression(), [[0.0], [1.0]], ["a", "a"], [[0.0]], ["a"])
    ... except psidebug.PsiError as error:
    ...     print(error)
    y_train has one class only ('a'): a classifier needs at least two. Check that the right column was given as labels.
    """


class InputError(PsiError, ValueError):
    """What was given cannot be used; also a ValueError."""


class UnsupportedFeatures(InputError):
    """Features of a kind Psi does not know, or a table without rows or columns."""


class ShapeMismatch(InputError):
    """Two things that must have the same length or columns do not."""


class MissingValues(InputError):
    """NaN or infinity where the learner cannot take them."""


class ChangedData(InputError):
    """Features were changed in place after a diagnosis that goes on to ask about them."""


class LabelError(InputError):
    """The labels cannot be used."""


class MissingLabels(LabelError):
    """Some labels are None or NaN."""


class ContinuousLabels(LabelError):
    """The labels are measurements, not classes."""


class SingleClass(LabelError):
    """Fewer than two classes in the training labels."""


class UnseenClass(LabelError):
    """The test or validation labels have a class that training never saw."""


class DuplicateIds(InputError):
    """Two rows carry the same id."""


class UnknownRow(InputError):
    """A row was named that does not exist."""


class NotMisclassified(InputError):
    """A test row was named as a bug, but the classifier is right about it."""


class InvalidWeights(InputError):
    """Sample weights that are no weights, or that the learner cannot take."""


class InvalidAnnotations(InputError):
    """A table of answers that cannot be read as one."""


class InvalidPrior(InputError):
    """Not a probability, or of the wrong length."""


class InvalidProbabilities(InputError):
    """Predicted probabilities that are none, or that have seen the labels that they predict."""


class InvalidSymptom(InputError):
    """The symptom cannot be stated on this task."""


class InvalidVerdicts(InputError):
    """Verdicts made elsewhere that do not fit the run."""


class UnknownOption(InputError):
    """A name that is not among the choices."""


class UsedKey(InputError):
    """A save under the key of another save."""


class UnreadableTable(InputError):
    """No file, a damaged one, or one that is no table of a known format."""


class UnreadableRun(InputError):
    """No saved run, a damaged one, or one made by a newer Psi."""


class UnreadableModel(InputError):
    """A file that holds no model, or one that is not safe to open."""


class LearnerError(PsiError):
    """The learner cannot be used."""


class NotAClassifier(LearnerError, TypeError):
    """No fit and predict, or a regressor."""


class LearnerMismatch(LearnerError, ValueError):
    """Fitted on other rows, labels, classes or columns than those given."""


class NoBestFit(LearnerError, ValueError):
    """The data leave the learner without a best fit, so nothing can be derived from it."""


class LearnerFailed(LearnerError):
    """The learner itself raised while fitting or predicting."""


class LearnerMissing(LearnerError):
    """A saved run is asked for what only its learner can answer, and has none."""


class UnsupportedLearner(LearnerError, TypeError):
    """No gray box of the wanted kind exists for this learner."""


class InferenceError(PsiError):
    """The question has no answer by this engine."""


class TooManyWorlds(InferenceError):
    """Enumeration would never end."""


class SymptomAbsent(InferenceError):
    """The symptom does not hold for the labels as given."""


class NoWorldWithout(InferenceError):
    """No world of the prior is free of the symptom."""


class OutputError(PsiError, OSError):
    """A result could not be written; nothing half-written is left."""


class OtherRun(OutputError):
    """Something else is where a run is to be saved."""


def first_line(error: BaseException) -> str:
    """What another library's error says, in one line, with its type."""
    text = str(error).strip().splitlines()
    return f"{text[0][:200] if text else 'no reason given'} ({type(error).__name__})"
