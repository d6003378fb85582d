"""The benchmarks that Psi is judged by: the paper's evaluation, and its peers on the same rows in the same run."""
