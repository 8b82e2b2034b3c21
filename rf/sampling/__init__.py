"""Draws of frequencies: radii, directions and couplings."""
