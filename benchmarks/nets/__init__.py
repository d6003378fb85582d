"""Neural nets: fidelity against retraining, finding wrong labels, and one run on an accelerator."""
