"""Small real data that come with scikit-learn: breast cancer, and handwritten digits with ten classes or two."""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from psidebug.datasets.benchmark import Benchmark, Design, Sizes
from psidebug.datasets.digits import handwritten
from psidebug.datasets.noise import Noise
from psidebug.datasets.sources import Source

UCI_DIGITS = Source(home="UCI digits, by scikit-learn", licence="CC BY 4.0")

BREAST_CANCER = Design(
    name="breast_cancer",
    sizes=Sizes(train=285, test=142, validation=142),
    columns=30,
    classes=("malignant", "benign"),
    source=Source(home="UCI breast cancer Wisconsin, by scikit-learn", licence="CC BY 4.0"),
    encoders={"logistic": StandardScaler()},
)
TEN_DIGITS = Design(
    name="ten_digits",
    sizes=Sizes(train=900, test=450, validation=447),
    columns=64,
    classes=tuple(map(str, range(10))),
    source=UCI_DIGITS,
)
ODD_EVEN = Design(
    name="odd_even",
    sizes=TEN_DIGITS.sizes,
    columns=64,
    classes=("even", "odd"),
    source=UCI_DIGITS,
)


def breast_cancer(seed: int, *, test: int = BREAST_CANCER.sizes.test, noise: Noise = "random") -> Benchmark:
    """Tumours, malignant or benign, by 30 measurements of their cells: 285 to train on, 142 to test and validate."""
    X, labels = load_breast_cancer(return_X_y=True)
    return BREAST_CANCER.shuffled(X, labels, seed, test=test, noise=noise)


def ten_digits(seed: int, *, test: int = TEN_DIGITS.sizes.test, noise: Noise = "random") -> Benchmark:
    """Handwritten digits of 8 × 8 pixels, ten classes: 900 to train on, 450 to test, 447 to validate."""
    pictures, written = handwritten()
    return TEN_DIGITS.shuffled(pictures, written, seed, test=test, noise=noise)


def odd_even(seed: int, *, test: int = ODD_EVEN.sizes.test, noise: Noise = "random") -> Benchmark:
    """The same digits, even against odd."""
    pictures, written = handwritten()
    return ODD_EVEN.shuffled(pictures, written % 2, seed, test=test, noise=noise)
