"""The papers' systems and their rivals, one to a file, by name in :data:`RIVALS`.

The systems (RFF, ORF, GRFF, GORF, AsKRFF) draw from the table of a kernel, as
:class:`rf.SpectralFeatures` does; the rivals make features of their own.  What is biased is so in a
class that says it: PublishedGRFF, PolynomialGRFF, SphericalRandomFeatures, DIGMM, SORF, and AsKRFF
with fitted masses.  A rival is added by a file and a line.

The papers' systems: ``rf/features/named`` (RFF, ORF, GRFF, GORF), ``rf/features/ask``; as
published: ``published_grff``, ``polynomial_grff``, ``samplers``. Their rivals: ``base`` (what
they share), ``digmm``, ``nystroem``, ``srf``, ``dot_product/gegenbauer``,
``dot_product/power_series``, ``dot_product/exact_polynomial``, ``dot_product/power`` with
``dot_product/random_maclaurin``, ``dot_product/tensor_sketch`` and
``dot_product/tensorised_projection``, ``gaussian_blocks/blocks`` with
``gaussian_blocks/fastfood``, ``gaussian_blocks/sorf`` and ``gaussian_blocks/circulant``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rf import GORF, GRFF, ORF, RFF, AsKRFF
from rf.papers.baselines.base import Rival
from rf.papers.baselines.digmm import DIGMM
from rf.papers.baselines.dot_product.exact_polynomial import ExactPolynomial
from rf.papers.baselines.dot_product.gegenbauer import GegenbauerFeatures
from rf.papers.baselines.dot_product.random_maclaurin import RandomMaclaurin
from rf.papers.baselines.dot_product.tensor_sketch import TensorSketch
from rf.papers.baselines.dot_product.tensorised_projection import TensorizedRandomProjection
from rf.papers.baselines.gaussian_blocks.circulant import SignedCirculant
from rf.papers.baselines.gaussian_blocks.fastfood import Fastfood
from rf.papers.baselines.gaussian_blocks.quasi_monte_carlo import QuasiMonteCarlo
from rf.papers.baselines.gaussian_blocks.sorf import SORF
from rf.papers.baselines.nystroem import IndefiniteNystroem
from rf.papers.baselines.polynomial_grff import PolynomialGRFF
from rf.papers.baselines.published_grff import PublishedGRFF
from rf.papers.baselines.srf import SphericalRandomFeatures

__all__ = [
    "DIGMM",
    "GORF",
    "GRFF",
    "ORF",
    "RFF",
    "RIVALS",
    "SORF",
    "AsKRFF",
    "ExactPolynomial",
    "Fastfood",
    "GegenbauerFeatures",
    "IndefiniteNystroem",
    "PolynomialGRFF",
    "PublishedGRFF",
    "QuasiMonteCarlo",
    "RandomMaclaurin",
    "Rival",
    "SignedCirculant",
    "SphericalRandomFeatures",
    "TensorSketch",
    "TensorizedRandomProjection",
]

RIVALS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "rff": RFF,
        "orf": ORF,
        "grff": GRFF,
        "gorf": GORF,
        "ask-rff": AsKRFF,
        "published-grff": PublishedGRFF,
        "polynomial-grff": PolynomialGRFF,
        "digmm": DIGMM,
        "exact-polynomial": ExactPolynomial,
        "fastfood": Fastfood,
        "gegenbauer": GegenbauerFeatures,
        "nystroem": IndefiniteNystroem,
        "quasi-monte-carlo": QuasiMonteCarlo,
        "random-maclaurin": RandomMaclaurin,
        "signed-circulant": SignedCirculant,
        "sorf": SORF,
        "srf": SphericalRandomFeatures,
        "tensor-sketch": TensorSketch,
        "trp": TensorizedRandomProjection,
    }
)
