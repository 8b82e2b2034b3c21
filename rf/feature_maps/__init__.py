"""Feature maps: cosines and sines of projections, monomials, and the threads that compute them."""

from rf.feature_maps.monomials import MonomialMap, monomial_columns

__all__ = ["MonomialMap", "monomial_columns"]
