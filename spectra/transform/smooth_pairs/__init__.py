"""Closed pairs on the half-line: Gaussian, Matern, rational quadratic, plane-wave means."""
