"""``python -m psidebug`` is the command ``psi``."""

from psidebug.cli import main

main()
