"""Files with label errors that nobody planted, as arrays.

They are read from the folder ``real`` in ``PSI_DATA``. A file that is not there is fetched from the repository it comes
from, at a fixed commit, and used only if its sha256 is the expected one. No row of them is in this repository: LabelMe
states no licence, and CIFAR-10N a non-commercial one.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.datasets.sources import VARIABLE, Source
from psidebug.errors import InputError

Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[Any]
"""Numbers (rows, columns), or texts (rows,)."""

RAW = "https://raw.githubusercontent.com"
NONE = -1
"""Of an annotator who was not asked, or a rule that abstains."""


@dataclass(frozen=True, eq=False)
class Part:
    """One split: rows, right labels 0 … K-1, and what each annotator or rule says, (rows, annotators)."""

    X: Rows
    y: Codes
    said: Codes | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Any) -> Part:
        """These rows."""
        return Part(self.X[rows], self.y[rows], None if self.said is None else self.said[rows])


def _source(home: str, licence: str, file: str, url: str, sha256: str) -> Source:
    return Source(home, licence, f"real/{file}", url and f"{RAW}/{url}", sha256)


# fmenat/PyLearningCrowds : data/LabelMe/<name of the file>. The features are the mean over positions of VGG's last
# layer; "Z" are right labels; answers.txt has a line per training row and a column per annotator, -1 not asked.
LABELME_HOME = "fmenat/PyLearningCrowds/272bf1deb6237908262b8103ae0538ae08638f41/data/LabelMe"
LABELME = {
    name: _source("Rodrigues & Pereira (2018)", "none stated", f"labelme/{name}", f"{LABELME_HOME}/{name}", sha256)
    for name, sha256 in {
        "LabelMe_VGG_avg_train.npy": "0ddfbcbd722aab70e81525a459cc37d47c1d344322b401ee35a3e9b158a209e8",
        "LabelMe_VGG_avg_valid.npy": "cb80ce99ef9fc80c666e6b9c43259ee0aac4e0cf82f8ac654b8bb309fb28953d",
        "LabelMe_VGG_avg_test.npy": "af407538f702f98e775f233652152cdcb58583c9d4668492308151c126ce7873",
        "LabelMe_Z_train.txt": "229556bdc5da327dd7d4e4154ba180969091c83f43cf8cbee3727131c5a062f6",
        "LabelMe_Z_valid.txt": "40aba43f903a539b38243c411e214da1f8c696cc47aa59811cc3388cc6899892",
        "LabelMe_Z_test.txt": "6d508b638d41fa84b2628615270456df96a49dce18054d201ac6261b03ea77bc",
        "answers.txt": "354c282e10835a59962494acb1d180fe997b65a0aa1e27f870cdb4ef51ef3e2b",
    }.items()
}

# JerrryNie/DyGen : datasets/<youtube or semeval>/<train, valid or test>.json, copies of WRENCH (Zhang and others 2021).
WRENCH_HOME = "JerrryNie/DyGen/41902c324779157a272548a008a6e487f6d81acc/datasets"
WRENCH = {
    (name, part): _source(
        "WRENCH", "Apache-2.0", f"wrench/{name}_{part}.json", f"{WRENCH_HOME}/{name}/{part}.json", sha256
    )
    for (name, part), sha256 in {
        ("youtube", "train"): "8c487acf4e3e16b340e28f3633d5613f83c4db2d3b287e4341c86ff8f2192705",
        ("youtube", "valid"): "01d28d71c48e34bdde0566a9eead1d9694baa4eae176cea6d979bb59c4516df3",
        ("youtube", "test"): "ef04412aee047657e41d7ad1411f11d05fce13b642bf1bec8897d138343ee12d",
        ("semeval", "train"): "d547783e4a592d450c22518fec5f67dccf782b21bfbceca49e0b3d85b2c1a9c5",
        ("semeval", "valid"): "ef62816a53928196cb64e109c73f998bb87aec3293a7a9a81b5358408fc09f13",
        ("semeval", "test"): "5994aeb4f8ed93f0776ecf14ffd5da06f42b57c97ee544a112ed3b6dde4849f8",
    }.items()
}

# Packed from two repositories: human labels from UCSC-REAL/cifar-10-100n, out-of-fold probabilities of five nets from
# cleanlab/label-error-detection-benchmarks. No file there has them in this form, so there is no address.
CIFAR10N = _source(
    "Wei and others (2022); Northcutt and others (2021)",
    "CC BY-NC 4.0; AGPL-3.0",
    "cifar10n/cifar10n_aggregate_pred_probs.npz",
    "",
    "6ce5d475ff68761745bbd8bbf0a7b9bffa9d110de3929be1c23b4c6011a44bce",
)

# cleanlab/label-errors : mturk/mnist_mturk.json, original_test_labels/mnist_test_set_original_labels.npy and
# cross_validated_predicted_probabilities/mnist_test_set_pyx.npy, each at a commit that has it.
MNIST_HOME = "cleanlab/label-errors"
MNIST = {
    name: _source("Northcutt and others (2021)", "Apache-2.0", f"mnist_errors/{name}", f"{MNIST_HOME}/{path}", sha256)
    for name, (path, sha256) in {
        "mnist_mturk.json": (
            "5457895eee26e49187de5c4d6617b9de6f172221/mturk/mnist_mturk.json",
            "448bd00fc9df262c68d50d48709d7fa3d5dc966bc66580e5df20e0dcba6e5612",
        ),
        "mnist_test_original_labels.npy": (
            "e3ea63914629b0481d0d58c301110cb6c043cc69/original_test_labels/mnist_test_set_original_labels.npy",
            "9c4b8d0ef379b2ce0d312470484d79e282a47e092738fca1edff326f9b67c20e",
        ),
        "mnist_test_pyx.npy": (
            "b1e4a9a46883dfd10c4c8cb09a741c671d05f95e/cross_validated_predicted_probabilities/mnist_test_set_pyx.npy",
            "403d0f1188c8940ceb47994a2cd9eb2aee6946810b5488d9d4501c97e09f30c2",
        ),
    }.items()
}


def labelme(part: str) -> Part:
    """Photographs in 8 classes by 512 numbers; "train" has the answers of 59 annotators, one to three a row."""
    X = _array(LABELME[f"LabelMe_VGG_avg_{part}.npy"].wherever()).astype(np.float64)
    said = _numbers(LABELME["answers.txt"].wherever()) if part == "train" else None
    return Part(X, _numbers(LABELME[f"LabelMe_Z_{part}.txt"].wherever()), said)


def wrench(name: str, part: str) -> Part:
    """Texts, and the votes of 10 rules (youtube, 2 classes) or 164 (semeval, 9 classes) on each."""
    rows = list(json.loads(WRENCH[name, part].wherever()).values())
    texts = np.array([row["data"]["text"] for row in rows], dtype=object)
    labels, votes = ([row[key] for row in rows] for key in ("label", "weak_labels"))
    return Part(texts, np.array(labels, dtype=np.intp), np.array(votes, dtype=np.intp))


def cifar10n() -> tuple[dict[str, Floats], Codes, Codes]:
    """Probabilities (50,000, 10) by the name of the net, the aggregate of three workers' labels, and the right ones."""
    folder = os.environ.get(VARIABLE)
    if not folder or not (Path(folder) / CIFAR10N.file).is_file():
        raise InputError(
            f"{CIFAR10N.file} is packed from two repositories, so Psi cannot download it. Set {VARIABLE} to a folder "
            "that has it."
        )
    with np.load(io.BytesIO(CIFAR10N.content())) as packed:
        nets = {str(name): p.astype(np.float64) for name, p in zip(packed["models"], packed["pred_probs"], strict=True)}
        return nets, packed["noisy"].astype(np.intp), packed["true"].astype(np.intp)


def mnist_errors() -> tuple[Floats, Codes, Codes]:
    """Out-of-fold probabilities of the 10,000 test digits, their given labels, and the right ones.

    A given label is wrong if fewer than three of five workers confirmed it: 15 are. The right one is then taken to be
    what the workers were offered instead; where most said "neither" there may be none.
    """
    given = _array(MNIST["mnist_test_original_labels.npy"].wherever()).astype(np.intp)
    right = given.copy()
    for flagged in json.loads(MNIST["mnist_mturk.json"].wherever()):
        if flagged["mturk"]["given"] < 3:
            right[flagged["id"]] = flagged["our_guessed_label"]
    return _array(MNIST["mnist_test_pyx.npy"].wherever()).astype(np.float64), given, right


def _array(content: bytes) -> npt.NDArray[Any]:
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _numbers(content: bytes) -> Codes:
    return np.loadtxt(io.BytesIO(content)).astype(np.intp)
