"""Draws of frequencies: radii, directions and couplings."""

from rf.sampling.frequencies import COUPLINGS, RADII, Frequencies, Radii, draw_frequencies

__all__ = ["COUPLINGS", "RADII", "Frequencies", "Radii", "draw_frequencies"]
