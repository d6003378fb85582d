"""The part of ``psi bench peers`` that runs in the peers' own environment."""

from __future__ import annotations

from benchmarks.peers.command import main

if __name__ == "__main__":
    main()
