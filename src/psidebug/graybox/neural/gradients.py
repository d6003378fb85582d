"""Gradients of a net's scores in its parameters, row by row, in few random projections.

φ_ia = S ∇_θ f_a(x_i) for every row i and class a, where S adds each of the P parameters, with a random sign, to one of
k numbers (a count sketch): E[φ·φ'] = ∇f·∇f', with an error of about |∇f| |∇f'| / √k. One pass over a gradient makes its
sketch; a dense projection would take k. Where P ≤ k it is the gradient itself. Rows are taken a few at a time, so that
nothing of size N × P is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.task.nets import Activations, evaluating, outputs_of
from psidebug.task.tables import Table

GRADIENT_BYTES = 2**27
"""Gradients held at a time."""
MOST_ROWS = 256


class SketchedGradients:
    """φ of any rows, by one net."""

    def __init__(self, activations: Activations, classes: int, *, size: int, seed: int) -> None:
        import torch

        self._net, self._shape, self._layer = activations.module, activations.shape, activations.layer
        self._outputs = activations.outputs
        self._parameters = {name: each.detach() for name, each in self._net.named_parameters() if each.requires_grad}
        if not self._parameters:  # frozen, as one that is only ever asked
            self._parameters = {name: each.detach() for name, each in self._net.named_parameters()}
        self._count = sum(each.numel() for each in self._parameters.values())
        own = next(iter(self._parameters.values()))
        chance = torch.Generator().manual_seed(seed)
        place, sign = torch.arange(self._count), torch.ones(self._count)  # few parameters are taken as they are
        if self._count > size:
            place = torch.randint(size, (self._count,), generator=chance)
            sign = 2.0 * torch.randint(2, (self._count,), generator=chance) - 1.0
        self._kind = torch.float64 if own.dtype == torch.float64 else torch.float32
        self._place, self._sign = place.to(own.device), sign.to(own.device, self._kind)
        self.classes, self.size = classes, min(size, self._count)
        self._together = True

    @property
    def squares(self) -> float:
        """|θ|²."""
        return float(sum(each.double().square().sum() for each in self._parameters.values()))

    def of(self, table: Table, rows: npt.NDArray[np.intp]) -> Iterator[tuple[npt.NDArray[np.intp], Any]]:
        """Some rows at a time, with their φ (n, K, k), a tensor where the net lives.

        A net with one score gives the second of two classes; the first has no gradient.
        """
        at_once = int(np.clip(GRADIENT_BYTES // (4 * self._count), 1, MOST_ROWS))
        with evaluating(self._net):
            for start in range(0, len(rows), at_once):
                part = rows[start : start + at_once]
                yield part, self._sketched(*self._shape.batch(table[part], self._net))

    def _sketched(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        import torch
        from torch.func import functional_call

        def score(parameters: dict[str, Any], given: tuple[Any, ...], keywords: dict[str, Any], place: int) -> Any:
            alone, named_alone = (
                tuple(each[None] for each in given),
                {key: each[None] for key, each in keywords.items()},
            )
            caught: list[Any] = []
            hook = self._layer.register_forward_hook(lambda _, __, out: caught.append(out))
            try:
                answer = functional_call(self._net, parameters, alone, named_alone)
            finally:
                hook.remove()
            out = caught[-1]  # the linear layer's, before any softmax; of a layer of tokens, the net's
            return outputs_of(answer if out.ndim == 3 else out)[0, place]

        rows = (positional[0] if positional else next(iter(named.values()))).shape[0]
        made = torch.zeros(rows, self.classes, self.size, device=self._sign.device, dtype=self._kind)
        for own, place in enumerate(self._outputs.tolist(), start=self.classes - len(self._outputs)):
            with torch.enable_grad():
                slopes = self._slopes(score, positional, named, place, rows)
            flat = torch.cat([slopes[name].flatten(1) for name in self._parameters], dim=1).to(self._kind) * self._sign
            made[:, own].index_add_(1, self._place, flat)
        return made

    def _slopes(
        self, score: Any, positional: tuple[Any, ...], named: dict[str, Any], place: int, rows: int
    ) -> dict[str, Any]:
        """∇_θ f_place of every row: together, or one by one in a net that looks at values to decide what it does."""
        import torch
        from torch.func import grad, vmap

        if self._together:
            try:
                made: dict[str, Any] = vmap(grad(score), in_dims=(None, 0, 0, None))(
                    self._parameters, positional, named, place
                )
            except RuntimeError as error:  # vmap cannot follow "if mask.all()"
                if "vmap" not in str(error):
                    raise
                self._together = False
            else:
                return made
        slopes = [
            grad(score)(
                self._parameters,
                tuple(each[row] for each in positional),
                {key: each[row] for key, each in named.items()},
                place,
            )
            for row in range(rows)
        ]
        return {name: torch.stack([each[name] for each in slopes]) for name in self._parameters}
