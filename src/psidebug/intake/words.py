"""Texts as sets of words, as scikit-learn's binary CountVectorizer has them; but every text is read once.

A diagnosis fits and asks the learner dozens of times about the same texts, and most of that time would go into cutting
them into words again and again.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

WORD = re.compile(r"(?u)\b\w\w+\b")
"""scikit-learn's: two letters or more."""
LEAST_ROWS = 3
"""Texts that a word must be in."""


@lru_cache(maxsize=20_000)
def words_in(text: str) -> tuple[str, ...]:
    """The different words of a text, in lower case."""
    return tuple(sorted({sys.intern(word) for word in WORD.findall(text.lower())}))


def vocabulary(texts: Sequence[str], *, most: int | None = None) -> dict[str, int]:
    """The words that are in enough texts, each with its column, in alphabetical order; the ``most`` frequent ones."""
    counts = Counter(word for text in texts for word in words_in(text))
    kept = sorted(
        (word for word, count in counts.items() if count >= LEAST_ROWS), key=lambda word: (-counts[word], word)
    )
    return {word: column for column, word in enumerate(sorted(kept[:most]))}


def presence(texts: Sequence[str], words: Mapping[str, int]) -> sp.csr_matrix:
    """(texts, words), 1 where the word is in the text."""
    rows = [[words[word] for word in words_in(text) if word in words] for text in texts]
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    return sp.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(texts), len(words)))
