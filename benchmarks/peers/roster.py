"""All methods that are compared, Psi first."""

from __future__ import annotations

from benchmarks.peers import baselines, boostin, catboosted, confident, duti, influence, psi, rain, valuation
from benchmarks.peers.contest import Peer

PEERS: tuple[Peer, ...] = (
    *psi.PEERS,
    *confident.PEERS,
    *valuation.PEERS,
    *catboosted.PEERS,
    *boostin.PEERS,
    *influence.PEERS,
    *duti.PEERS,
    *rain.PEERS,
    *baselines.PEERS,
)


def named(name: str) -> Peer:
    """The method of this name."""
    return next(peer for peer in PEERS if peer.name == name)
