"""From rows and frequencies to columns: the inner loops and what they run on."""

from rf.feature_maps.monomials import MonomialMap, monomial_columns
from rf.feature_maps.walsh import walsh_phases_with_numpy, walsh_transform

__all__ = [
    "MonomialMap",
    "monomial_columns",
    "walsh_phases_with_numpy",
    "walsh_transform",
]
