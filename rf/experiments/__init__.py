"""The published experiments, re-run: their algorithms, the corrected ones and the best we know.

A table is added by a file and a line in :data:`EXPERIMENTS`; the command is ``rf reproduce NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.experiments.ask_accuracy import ASK_ACCURACY
from rf.experiments.ask_errors import ASK_ERRORS
from rf.experiments.digmm_bias import DIGMM_BIAS
from rf.experiments.gorf_errors import GORF_ERRORS
from rf.experiments.housing import HOUSING
from rf.experiments.tables import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "gorf-errors": GORF_ERRORS,
        "gorf-housing": HOUSING,
        "digmm-bias": DIGMM_BIAS,
        "ask-errors": ASK_ERRORS,
        "ask-accuracy": ASK_ACCURACY,
    }
)
