"""The rivals of the papers, one file each, as scikit-learn transformers with a signature.

A rival is added by a file and a line in :data:`BASELINES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.baselines.base import Baseline
from rf.baselines.exact_polynomial import ExactPolynomial
from rf.baselines.gegenbauer import GegenbauerFeatures
from rf.baselines.nystroem import IndefiniteNystroem
from rf.baselines.published import PublishedGRFF
from rf.baselines.random_maclaurin import RandomMaclaurin
from rf.baselines.srf import SphericalRandomFeatures
from rf.baselines.tensor_sketch import TensorSketch
from rf.baselines.trp import TensorizedRandomProjection

__all__ = [
    "BASELINES",
    "Baseline",
    "ExactPolynomial",
    "GegenbauerFeatures",
    "IndefiniteNystroem",
    "PublishedGRFF",
    "RandomMaclaurin",
    "SphericalRandomFeatures",
    "TensorSketch",
    "TensorizedRandomProjection",
]

BASELINES: Mapping[str, type[Baseline]] = MappingProxyType(
    {
        "exact-polynomial": ExactPolynomial,
        "gegenbauer": GegenbauerFeatures,
        "nystroem": IndefiniteNystroem,
        "published-grff": PublishedGRFF,
        "random-maclaurin": RandomMaclaurin,
        "srf": SphericalRandomFeatures,
        "tensor-sketch": TensorSketch,
        "trp": TensorizedRandomProjection,
    }
)
