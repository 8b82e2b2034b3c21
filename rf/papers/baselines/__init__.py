"""Published baselines, one per file, as scikit-learn transformers with a sign for each column.

RFF, ORF, GRFF, GORF and AsKRFF draw from the table of a kernel, as :class:`rf.SpectralFeatures`
does; the others do not use a table.  PublishedGRFF, PolynomialGRFF, SphericalRandomFeatures, DIGMM,
SORF and IndefiniteNystroem are biased, and so is AsKRFF with fitted masses.  ``base`` has the
common interface, ``samplers`` the published methods that draw frequencies.
"""

from __future__ import annotations

from rf import GORF, GRFF, ORF, RFF, AsKRFF
from rf.papers.baselines.base import Baseline
from rf.papers.baselines.digmm import DIGMM
from rf.papers.baselines.dot_product.exact_polynomial import ExactPolynomial
from rf.papers.baselines.dot_product.optimised_maclaurin import OptimisedMaclaurin
from rf.papers.baselines.dot_product.random_maclaurin import RandomMaclaurin
from rf.papers.baselines.dot_product.sketches import TensorizedRandomProjection, TensorSketch
from rf.papers.baselines.gaussian_blocks.circulant import SignedCirculant
from rf.papers.baselines.gaussian_blocks.fastfood import Fastfood
from rf.papers.baselines.gaussian_blocks.quasi_monte_carlo import QuasiMonteCarlo
from rf.papers.baselines.gaussian_blocks.sorf import SORF
from rf.papers.baselines.nystroem import IndefiniteNystroem
from rf.papers.baselines.polynomial_grff import PolynomialGRFF
from rf.papers.baselines.published_grff import PublishedGRFF
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
    "Fastfood",
    "IndefiniteNystroem",
    "OptimisedMaclaurin",
    "PolynomialGRFF",
    "PublishedGRFF",
    "QuadratureFeatures",
    "QuasiMonteCarlo",
    "RandomMaclaurin",
    "SignedCirculant",
    "SphericalRandomFeatures",
    "TensorSketch",
    "TensorizedRandomProjection",
]
