"""The exact variance of the estimate of a kernel, for every coupling."""
