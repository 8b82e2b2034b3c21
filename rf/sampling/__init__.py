"""Frequencies w = R u: radii R, unit directions u, and couplings (their joint distributions)."""

from rf.feature_maps.feature_map import Frequencies
from rf.sampling.frequencies import COUPLINGS, RADII, Radii, draw_frequencies

__all__ = ["COUPLINGS", "RADII", "Frequencies", "Radii", "draw_frequencies"]
