"""Tails of T_-i for every i by inverting the characteristic function of the tilted sum, one factor divided out.

With ψ_-i(u) = E_λ exp(iu T_-i) = Π_{j≠i} f_j(u), f_j(u) = 1 + Σ_k q_j(k) (exp(iu c_j(k)) - 1), any λ > 0 gives

    P(T_-i ≥ a) = exp(K_-i(λ) - λ a) J_-i(a),    J_-i(a) = (1/2π) ∫ ψ_-i(u) exp(-iua) / (λ + iu) du.

On a lattice of step δ the integral runs over one period and 1/(λ + iu) becomes δ / (1 - exp(-(λ + iu) δ)).

The integral is a trapezoid sum at u_n = n h, h = 2π/L. It equals Σ_m J(a + m L) exactly, so its error is what wraps
around: with L ≥ (26 + λM - K(λ)) / λ and L ≥ 12 standard deviations that is below 1e-9. A sum of many labels needs
a few dozen nodes, since ψ falls like exp(-σ²u²/2). exp(i u_n c) is the n-th power of exp(i h c): one multiplication.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.inference.estimates import Tails
from psidebug.inference.linear import LinearSymptom, lattice_step
from psidebug.inference.tilted_prior import Tilt, saddle_point, tilt_at
from psidebug.priors import Floats, over_alternatives

Complex = npt.NDArray[np.complex128]
Rows = npt.NDArray[np.intp]

BLOCK = 4096
"""Rows handled at once: their powers stay in the processor's cache."""
PROBED_AT_ONCE = 64
"""Labels by which it is asked at a time whether ψ comes back."""
MOST_NODES = 4096
MOST_FACTORS = 2**22
"""Nodes × labels beyond which a ψ that does not fall is cut off."""
TOLERABLE = 1e-4
"""Nodes are added until what is left out is below this."""
WRAPPED = 26.0
"""exp(-26) = 5e-12 is what wraps around, as a share of at most 1."""
NEGLIGIBLE = 1e-8
"""ψ is followed until |ψ(u)| λ/|λ + iu|, its share of the integral relative to the first node, is below this."""


@dataclass(frozen=True, eq=False)
class Inversion:
    """Everything that the tails of all rows share: the tilt, the nodes and the integrand at the nodes."""

    symptom: LinearSymptom
    tilt: Tilt
    spacing: float
    """h."""
    integrand: Complex
    """g(u_n) = ψ(u_n) exp(-i u_n M) / (λ + i u_n) for n = 0, 1, …, the first halved."""
    lattice: bool
    """Whether the sums lie on a lattice, where the integral ends."""
    complete: bool
    """Whether ψ was followed to its end. If not (few labels, no lattice), the cut-off is tapered: T is smoothed."""

    def sufficiency(self, rows: Rows) -> tuple[Tails, Floats]:
        """Tails of T_-i for these rows, and the stated error of the PS that follows from them.

        An incomplete integral smooths T on the scale s = 3/u_last, which misplaces what lies within s of a threshold.
        It is taken again with half of the nodes: the stated error is three times the change of PS, plus five times the
        change of the mass near both thresholds: none where the law of T is smooth, an atom's share where it is not.
        """
        nodes = len(self.integrand)
        stated = 1e-7 if self.lattice else 1e-7 + left_out(self.tilt, nodes)
        if self.complete:
            return self._tails(rows, self.integrand[None])[0], np.full(len(rows), stated)
        density = self.tilt.rate + 1j * self.spacing * np.arange(nodes)
        fine, coarse = self.integrand * _taper(nodes, nodes), self.integrand * _taper(nodes // 2, nodes)
        integrands = np.stack([fine, coarse, fine * density, coarse * density])
        tails, smoother, near, smoother_near = self._tails(rows, integrands)
        proposals = self.symptom.prior.proposals[:, rows]
        error = 3.0 * np.abs(tails.sufficiency(proposals) - smoother.sufficiency(proposals))
        lump = np.abs(near.kept - smoother_near.kept) + np.abs(near.moved - smoother_near.moved).max(axis=0)
        size = np.maximum((proposals * tails.moved).sum(axis=0), 1e-300)
        smoothing = 3.0 / (self.spacing * nodes)
        return tails, error + np.minimum(5.0 * smoothing * lump / size, 1.0) + stated

    def _tails(self, rows: Rows, integrands: Complex) -> list[Tails]:
        """Tails by each of several integrands (m, nodes), all nodes in one pass over the rows."""
        moves, moved = self.symptom.moves[:, rows], self.tilt.moved[:, rows]
        kept, back = np.zeros((len(integrands), len(rows))), np.zeros((len(integrands), *moves.shape))
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            factors_at = _factors(moves[:, part], moved[:, part], self.spacing)
            for values, (powers, factors) in zip(integrands.T, factors_at, strict=False):
                share = values[:, None] / factors
                kept[:, part] += share.real
                for k, power in enumerate(powers):
                    back[:, k, part] += (share * power).real
        scale = self.spacing / np.pi
        # moved is exp(λc) times the integral; the largest exponent goes into the scale, so that none overflows
        exponents = self.tilt.rate * moves
        lift = np.maximum(exponents.max(axis=0), 0.0)
        log_scale = lift + self.tilt.log_norm - self.tilt.log_norms[rows] - self.tilt.rate * self.symptom.threshold
        kept *= scale * np.exp(-lift)
        back *= scale * np.exp(exponents - lift)
        return [_tails_of(each, other, moves, log_scale) for each, other in zip(kept, back, strict=True)]


def _tails_of(kept: Floats, moved: Floats, moves: Floats, log_scale: Floats) -> Tails:
    kept, moved = np.maximum(kept, 0.0), np.maximum(moved, 0.0)
    return Tails(kept, moved, np.where(moves > 0, np.maximum(moved - kept, 0.0), 0.0), log_scale)


def invert(symptom: LinearSymptom) -> Inversion:
    """Choose λ, the nodes and the kernel, and evaluate ψ at the nodes."""
    tilt = _kept_from_the_pole(saddle_point(symptom))
    largest = float(np.abs(symptom.moves).max())
    reach = (WRAPPED + max(tilt.rate * symptom.threshold - tilt.log_norm, 0.0)) / tilt.rate
    period = max(reach, 12.0 * tilt.deviation + abs(tilt.mean - symptom.threshold)) + 2.0 * largest

    step = lattice_step(symptom.moves)
    nodes, threshold = None, symptom.threshold
    if step is not None:
        points = 2 * int(np.ceil(period / step / 2)) + 1
        period, nodes = points * step, points // 2 + 1
        threshold = step * float(np.ceil((symptom.threshold - symptom.rounding) / step))
    spacing = 2.0 * np.pi / period
    psi = _characteristic(symptom, tilt, spacing, nodes)
    u = spacing * np.arange(len(psi))
    kernel = 1.0 / (tilt.rate + 1j * u) if step is None else step / -np.expm1(-(tilt.rate + 1j * u) * step)
    integrand = psi * np.exp(-1j * u * threshold) * kernel
    # tails are stated at the user's own threshold: exp(-λM) is in their scale, exp(λ(M - M')) is here
    integrand *= np.exp(-tilt.rate * (threshold - symptom.threshold))
    integrand[0] *= 0.5
    lattice = len(psi) == nodes
    return Inversion(symptom, tilt, spacing, integrand, lattice=lattice, complete=lattice or _ended(psi, u, tilt))


def _kept_from_the_pole(tilt: Tilt) -> Tilt:
    """The tilt with λ raised towards 0.5/σ, away from the pole of 1/(λ + iu); any λ > 0 is exact.

    But not so far that exp(K(λ) - λM) exceeds what it bounds, P(T ≥ M), by much: a single rare label of large effect
    would take all the tilted mass, and the digits of the others with it.
    """
    symptom = tilt.symptom
    rate = 0.5 / tilt.deviation if tilt.deviation > 0 else 1.0 / symptom.threshold
    while rate > tilt.rate:
        raised = tilt_at(symptom, rate)
        if raised.log_norm - rate * symptom.threshold <= 2.0:
            return raised
        rate *= 0.5
    return tilt if tilt.rate > 0 else tilt_at(symptom, rate)


def left_out(tilt: Tilt, nodes: int) -> float:
    """Stated error of PS from the returns of ψ beyond the last node.

    Off a lattice ψ never ends: it keeps returning with random phase and mean square Σ P(w)². Summed over all later
    nodes that is a relative error of about ½ √(Σ P(w)²) λσ/√n in each tail; eight times as much is stated.
    """
    return 4.0 * tilt.coarseness * tilt.rate * tilt.deviation / float(np.sqrt(nodes))


def _characteristic(symptom: LinearSymptom, tilt: Tilt, spacing: float, nodes: int | None) -> Complex:
    """ψ(u_n): at all nodes of a lattice if they are few, otherwise until it is negligible and not seen to return."""
    most = max(256, min(MOST_NODES, MOST_FACTORS // symptom.prior.size))
    if nodes is not None and nodes <= most:
        return _products(symptom, tilt, spacing, nodes)
    last = np.inf if nodes is None else spacing * nodes
    wanted = int(np.ceil(6.5 / (tilt.deviation * spacing))) + 3 if tilt.deviation > 0 else most
    spreads = (tilt.moved * (1.0 - tilt.moved)).ravel()
    wanted = max(wanted, int(last_return(symptom.moves.ravel(), spreads, tilt.rate, last) / spacing) + 8)
    wanted = max(wanted, int(min((left_out(tilt, 1) / TOLERABLE) ** 2, most)))
    while True:
        wanted = min(wanted, most)
        psi = _products(symptom, tilt, spacing, wanted)
        if wanted == most or _ended(psi, spacing * np.arange(wanted), tilt):
            return psi
        wanted *= 2


def _products(symptom: LinearSymptom, tilt: Tilt, spacing: float, nodes: int) -> Complex:
    # Blocks are multiplied onto each other lane by lane, and the lanes only at the end: a running product is slow. Even
    # and odd blocks have lanes of their own, however many processors there are: the answer does not depend on them.
    width = min(BLOCK, symptom.prior.size)

    def product(first: int) -> Complex:
        lanes = np.ones((nodes, width), dtype=np.complex128)
        for start in range(first * width, symptom.prior.size, 2 * width):
            part = slice(start, start + width)
            blocks = _factors(symptom.moves[:, part], tilt.moved[:, part], spacing)
            for lane, (_, factors) in zip(lanes, blocks, strict=False):
                lane[: len(factors)] *= factors
        return np.asarray(np.multiply.reduce(lanes, axis=1))

    if symptom.prior.size <= 4 * width:
        return product(0) * product(1)
    with ThreadPoolExecutor(2) as pool:
        even, odd = pool.map(product, (0, 1))
    return np.asarray(even * odd)


def _factors(moves: Floats, moved: Floats, spacing: float) -> Iterator[tuple[list[Complex], Complex]]:
    """For n = 0, 1, …: the powers exp(i n h c_k) of each alternative k, and the factors f(n h), of all rows given.

    A factor can vanish (q = ½, u c = π); 1e-150i keeps it from being 0 both where it is multiplied in and divided out.
    """
    roots = [np.exp(1j * spacing * effect) for effect in moves]
    powers = [np.ones(moves.shape[1], dtype=np.complex128) for _ in roots]
    stay = 1.0 - over_alternatives(moved) + 1e-150j
    factors = np.empty(moves.shape[1], dtype=np.complex128)
    while True:
        np.multiply(moved[0], powers[0], out=factors)
        for k in range(1, len(powers)):
            factors += moved[k] * powers[k]
        factors += stay
        yield powers, factors
        for power, root in zip(powers, roots, strict=True):
            power *= root


def last_return(effects: Floats, spreads: Floats, rate: float, last: float) -> float:
    """The last u, up to ``last``, at which ψ is seen to come back: near-lattices do where most u c are multiples of 2π.

    |ψ(u)| ≤ exp(-Σ q (1-q) (1 - cos u c)) over any of the rows; the strongest 2,048 are enough to tell. ``spreads`` are
    q (1-q) and ``rate`` is λ.
    """
    weights = spreads * effects**2
    sample = np.argpartition(weights, -2048)[-2048:] if len(weights) > 2048 else np.arange(len(weights))
    sample = sample[weights[sample] > 0]
    strongest = sample[np.argsort(weights[sample])[-64:]]
    probes = (2.0 * np.pi * np.arange(1, 5)[:, None] / np.abs(effects[strongest])).ravel()
    probes = probes[probes <= last]
    if len(probes) == 0:
        return 0.0
    loss = np.zeros(len(probes))
    for start in range(0, len(sample), PROBED_AT_ONCE):  # most probes are out after the first few: a sum only rises
        some = sample[start : start + PROBED_AT_ONCE]
        loss += (1.0 - np.cos(np.outer(probes, effects[some]))) @ spreads[some]
        here = np.exp(-loss) * rate / probes > 1e-7
        probes, loss = probes[here], loss[here]
    return float(probes.max(initial=0.0))


def _ended(psi: Complex, u: npt.NDArray[np.floating[Any]], tilt: Tilt) -> bool:
    return bool((np.abs(psi) * tilt.rate / np.abs(tilt.rate + 1j * u))[-3:].max() < NEGLIGIBLE)


def _taper(last: int, nodes: int) -> Floats:
    """A Gaussian over the nodes, three standard deviations out at the last, 0 beyond."""
    place = np.arange(nodes) / last
    return np.where(place < 1.0, np.exp(-0.5 * (3.0 * place) ** 2), 0.0)
