"""Densities of formulas on the half-line, by sums on rays of the complex plane."""
