"""What the parts of Psi cost: times are ratios within one run on one machine."""
