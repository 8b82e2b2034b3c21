"""Densities of kernels of the l1 distance."""
