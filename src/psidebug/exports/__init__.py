"""What leaves Psi: the corrected data, the suspects, and tasks for other tools."""
