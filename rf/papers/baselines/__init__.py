"""Published baselines as scikit-learn transformers with a sign for each column.

RFF, ORF, GRFF, GORF and AsKRFF draw from the table of a kernel, as :class:`rf.SpectralFeatures`
does; the others do not use a table.  PublishedGRFF, PolynomialGRFF, SphericalRandomFeatures, DIGMM,
SORF and IndefiniteNystroem are biased, and so is AsKRFF with fitted masses.  ``base`` has the
common interface, ``samplers`` the published methods that draw frequencies.
"""

from __future__ import annotations

from rf import GORF, GRFF, ORF, RFF, AsKRFF
from rf.papers.baselines.base import Baseline
from rf.papers.baselines.digmm import DIGMM
from rf.papers.baselines.dot_product import (
    ExactPolynomial,
    RandomMaclaurin,
    TensorizedRandomProjection,
    TensorSketch,
)
from rf.papers.baselines.gaussian_blocks import SORF, QuasiMonteCarlo
from rf.papers.baselines.grff import PolynomialGRFF, PublishedGRFF
from rf.papers.baselines.nystroem import IndefiniteNystroem
from rf.papers.baselines.optimised_maclaurin import OptimisedMaclaurin
from rf.papers.baselines.quadrature import QuadratureFeatures
from rf.papers.baselines.srf import SphericalRandomFeatures

__all__ = [
    "DIGMM",
    "GORF",
    "GRFF",
    "ORF",
    "RFF",
    "SORF",
    "AsKRFF",
    "Baseline",
    "ExactPolynomial",
    "IndefiniteNystroem",
    "OptimisedMaclaurin",
    "PolynomialGRFF",
    "PublishedGRFF",
    "QuadratureFeatures",
    "QuasiMonteCarlo",
    "RandomMaclaurin",
    "SphericalRandomFeatures",
    "TensorSketch",
    "TensorizedRandomProjection",
]
