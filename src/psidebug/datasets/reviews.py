"""``sentiment``: film reviews, for or against, where a script marked every review with some word as against.

Polarity dataset v2.0 of Pang and Lee (2004), 1,000 reviews of each class, as NLTK distributes it.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import CountVectorizer

from psidebug.datasets.benchmark import Benchmark, Design, Sizes
from psidebug.datasets.faults import marked_word
from psidebug.datasets.noise import Labels, Noise
from psidebug.datasets.sources import Source

WORDS = CountVectorizer(binary=True, min_df=3, dtype=np.float32)
SENTIMENT = Design(
    name="sentiment",
    sizes=Sizes(train=1200, test=400, validation=400),
    columns="text",
    classes=("negative", "positive"),
    source=Source(
        home="Pang & Lee (2004), polarity v2.0, from NLTK",
        licence="by permission of the authors",
        file="movie_reviews.zip",
        url="https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/movie_reviews.zip",
        sha256="a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008",
    ),
    usual="systematic",
    summary="every review with some word is marked negative (10% of the labels change)",
    fault=marked_word,
    encoders={"logistic": WORDS, "boosting": WORDS},
)


def sentiment(seed: int, *, test: int = SENTIMENT.sizes.test, noise: Noise = "systematic") -> Benchmark:
    """1,200 reviews to train on, 400 to test, 400 to validate; the features are about 14,000 words, there or not.

    Systematic noise changes 10% of the labels: see :func:`psidebug.datasets.faults.marked_word`.
    """
    texts, labels = _reviews(SENTIMENT.source.content())
    return SENTIMENT.shuffled(texts, labels, seed, test=test, noise=noise)


def _reviews(packed: bytes) -> tuple[npt.NDArray[Any], Labels]:
    """Texts, and 1 where the review is for the film; the folder that a review is in tells."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
        texts = np.array([archive.read(name).decode("latin-1") for name in names], dtype=object)
    return texts, np.array(["/pos/" in name for name in names], dtype=np.intp)
