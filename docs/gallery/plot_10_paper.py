"""
The paper
=========

Psi began with *Debugging Machine Learning Tasks* (Chakarov, Nori, Rajamani, Sen and Vijaykeerthy, 2016). Its example
is an election: 101 people voted, 56 for A and 45 for B. A won. Was this one vote for A the cause?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from psidebug.priors import noise
from psidebug.program.interpreter import interpret
from psidebug.program.paper import sufficiency
from psidebug.symptoms import misclassified

given = np.array([0] * 56 + [1] * 45)  # class 0 is A, class 1 is B


def election(worlds):
    """The lead of B in each world; (worlds, points, rivals)."""
    return ((worlds == 1).sum(axis=1) - (worlds == 0).sum(axis=1))[:, None, None].astype(float)


# %%
# The paper asks its question as a probabilistic program. Take the worlds in which the vote is different and A has not
# won. In how many of them does A win when the vote is put back?

prior = noise(given, classes=2, rate=0.05)
program = sufficiency(prior, election, misclassified(0))
print(program)

# %%
# The paper answers it by sampling, and most worlds do not count: few pass both observations.

votes = prior.draw(20_000, np.random.default_rng(1))
print(len(interpret(program, {"Γ.Y": votes}, index=0).values), "of 20,000 worlds pass both observations")

# %%
# Here the answer can be counted. Given that this vote has moved to B, A has 55 votes less those that moved. PS is the
# chance that B leads by one vote, so that putting the vote back turns it, among all worlds in which B leads.


def counted(rate):
    """PS of a vote for A, by counting all worlds: votes of A that moved, votes of B that moved."""
    moved = np.arange(56)[:, None] - np.arange(46)[None, :]  # net loss of A, beside the vote itself
    chance = binom.pmf(np.arange(56), 55, rate)[:, None] * binom.pmf(np.arange(46), 45, rate)[None, :]
    lead = 46 - 55 + 2 * moved  # of B; it is odd
    return chance[lead == 1].sum() / chance[lead > 0].sum()


def sampled(rate, worlds, seed):
    """The same by running the paper's program."""
    prior = noise(given, classes=2, rate=rate)
    draws = {"Γ.Y": prior.draw(worlds, np.random.default_rng(seed))}
    values = interpret(sufficiency(prior, election, misclassified(0)), draws, index=0).values
    return np.mean(values) if len(values) else np.nan


rates = np.array([0.03, 0.05, 0.1, 0.15, 0.2, 0.3])
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(rates, [counted(rate) for rate in rates], label="counted")
for seed in range(3):
    axes.plot(rates, [sampled(rate, 20_000, seed) for rate in rates], "o", color="grey", alpha=0.6)
axes.plot([], [], "o", color="grey", label="20,000 sampled worlds, three seeds")
axes.set(xlabel="how often votes are wrong", ylabel="PS of one vote for A", ylim=(0, 1))
axes.legend()

# %%
# For a classifier there is a vote for each training label, and the election is training. Psi replaces training by a
# *gray box* and sampling by a closed form: :doc:`../how_it_works` goes there step by step, and :doc:`../paper` repeats
# the paper's evaluation.
