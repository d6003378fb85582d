"""What may be wrong with a task, one file per cause: what it claims, and the change that would repair it.

Which of them it is, :mod:`psidebug.diagnosis.causes` decides.
"""
