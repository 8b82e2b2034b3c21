"""Baselines for the Gaussian kernel that draw frequencies in blocks."""
