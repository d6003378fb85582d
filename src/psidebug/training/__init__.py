"""Every fit: of the user's learner under a change of its data, and of the plain learners that are asked beside it."""
