"""Psi beside what people use today: every method on the same rows in the same run."""

from __future__ import annotations

from benchmarks.peers.command import bench_peers, write_page

__all__ = ["bench_peers", "write_page"]
