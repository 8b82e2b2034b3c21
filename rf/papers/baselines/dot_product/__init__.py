"""Baselines for kernels of the inner product."""
