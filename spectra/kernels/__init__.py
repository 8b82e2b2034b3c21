"""Kernels and their algebra: radial, zonal, grouped, asymmetric, and of the l1 distance."""
