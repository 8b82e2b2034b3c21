"""The estimators SpectralFeatures, RFF, ORF, GRFF, GORF and AsKRFF; import them from rf."""

from rf.features.base import MixedSignature
from rf.features.named import SignedFeatures

__all__ = ["MixedSignature", "SignedFeatures"]
