"""How features of each kind of kernel are sampled, and what is known of their error."""

from rf.schemes.feature_map import FeatureMap
from rf.schemes.scheme import RadialScheme, Scheme

__all__ = ["FeatureMap", "RadialScheme", "Scheme"]
