"""Feature maps: cosines and sines of projections, monomials, and the threads that compute them."""

from rf.feature_maps.monomials import MonomialMap, count_monomials

__all__ = ["MonomialMap", "count_monomials"]
