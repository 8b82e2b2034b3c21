"""From rows and frequencies to columns: the inner loops and what they run on."""

from rf.feature_maps.monomials import MonomialMap, monomial_columns

__all__ = ["MonomialMap", "monomial_columns"]
