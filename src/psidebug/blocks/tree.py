"""Merging what blocks say in an order that depends on nothing but the number of blocks.

Floating-point sums depend on the order of adding. Here it is a binary tree over the numbers of the blocks: node (l, j)
is the merge of blocks j 2^l … (j+1) 2^l - 1, its halves merged left to right. What remains at the right end is merged
from the smallest node up. Whoever has a run of blocks may merge the nodes that lie inside it; who then merges all
nodes gets the same answer, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Node(Generic[T]):
    """The merge of 2^``level`` blocks, the first of them number ``index`` 2^``level``."""

    level: int
    index: int
    value: T


def nodes_of(parts: Iterable[Node[T]], merge: Callable[[T, T], T]) -> list[Node[T]]:
    """The largest nodes of the tree that these make; ``parts`` follow each other in the order of rows."""
    stack: list[Node[T]] = []
    for part in parts:
        stack.append(part)
        while len(stack) > 1 and stack[-1].level == stack[-2].level and stack[-1].index % 2 == 1:
            right, left = stack.pop(), stack.pop()
            stack.append(Node(left.level + 1, left.index // 2, merge(left.value, right.value)))
    return stack


def merged(parts: Iterable[Node[T]], merge: Callable[[T, T], T]) -> T | None:
    """The value of all parts, which begin at block 0 and leave none out; None if there are none."""
    stack = nodes_of(parts, merge)
    if not stack:
        return None
    value = stack.pop().value
    while stack:
        value = merge(stack.pop().value, value)
    return value
