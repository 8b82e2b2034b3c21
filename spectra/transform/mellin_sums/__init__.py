"""Kernels whose Mellin transform is a product of Gamma functions: sums on vertical lines."""
