"""What the labels should be, by predictors that did not see them, and how the given ones came to differ from that.

predictors (:mod:`.predictors`, :mod:`.held_out`) → calibration → noise rates → joint fit → hypotheses → contest.
"""
