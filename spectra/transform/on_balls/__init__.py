"""Kernels that are zero beyond a radius: moments within, expansions at the edge."""
