"""Experiments of Liu (GRFF), Luo (GORF), He (AsK-RFF) and others: ``rf reproduce NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.papers.experiments.experiment import Experiment
from rf.papers.published.accuracy_curves import GORF_ACCURACY, LIU_ACCURACY
from rf.papers.published.ask_accuracy import ASK_ACCURACY
from rf.papers.published.ask_errors import ASK_CURVES, ASK_ERRORS, ASK_MASSES
from rf.papers.published.bound_columns import BOUND_COLUMNS
from rf.papers.published.columns import COLUMNS
from rf.papers.published.error_curves import GORF_ERRORS, LIU_ERRORS
from rf.papers.published.gaussian_errors import GAUSSIAN_ERRORS
from rf.papers.published.gorf_variance import GORF_VARIANCE
from rf.papers.published.housing import HOUSING
from rf.papers.published.krein_accuracy import KREIN_ACCURACY
from rf.papers.published.liu_sampling import LIU_SAMPLING
from rf.papers.published.liu_times import LIU_TIMES
from rf.papers.published.nystroem_losses import NYSTROEM_LOSSES

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "liu-times": LIU_TIMES,
        "liu-errors": LIU_ERRORS,
        "liu-accuracy": LIU_ACCURACY,
        "liu-sampling": LIU_SAMPLING,
        "gorf-variance": GORF_VARIANCE,
        "gorf-errors": GORF_ERRORS,
        "gorf-accuracy": GORF_ACCURACY,
        "gorf-housing": HOUSING,
        "ask-masses": ASK_MASSES,
        "ask-errors": ASK_ERRORS,
        "ask-curves": ASK_CURVES,
        "ask-accuracy": ASK_ACCURACY,
        "krein-accuracy": KREIN_ACCURACY,
        "bound-columns": BOUND_COLUMNS,
        "gaussian-errors": GAUSSIAN_ERRORS,
        "nystroem-losses": NYSTROEM_LOSSES,
        "columns": COLUMNS,
    }
)
