"""Means over the distribution of a radius that variances are made of."""
