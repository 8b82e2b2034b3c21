"""Random Fourier features drawn from exact spectral distributions.

The steps from a kernel to its features::

    kernel (or its name, formula, measure or SpectralTable)
        -> at fit: frequencies, with weights and signs
        -> Z = SpectralFeatures(...).fit_transform(X) -> K ~ (Z * signature_) @ Z.T

``SpectralFeatures`` is the estimator; ``RFF``, ``ORF``, ``GRFF``, ``GORF`` and ``AsKRFF`` are
published methods.  Names are loaded on first use, and sympy is imported only if a kernel has to be
turned into a table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "AsKRFF": "features.ask",
    "DroppedPartWarning": "features.ask",
    "FlippedFeatures": "krein.flipped",
    "Frequencies": "feature_maps.feature_map",
    "GORF": "features.named",
    "GRFF": "features.named",
    "GaussianField": "fields",
    "KreinRidge": "krein.ridge",
    "KreinRidgeClassifier": "krein.classifier",
    "Kriging": "kriging",
    "LengthScaleWarning": "inputs.unit_warning",
    "ORF": "features.named",
    "RFF": "features.named",
    "SignatureWarning": "features.messages",
    "SpectralFeatures": "features.spectral_features",
    "SphereField": "fields",
    "UselessFeaturesWarning": "features.messages",
    "anisotropy": "inputs.anisotropy",
    "draw_frequencies": "sampling.frequencies",
    "load_dataset": "papers.datasets",
    "show_config": "feature_maps.threads",
    "two_sample_test": "two_sample",
    "unit_vectors": "fields",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = getattr(import_module(f"rf.{_MODULES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
