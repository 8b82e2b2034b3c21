"""The experiments of Liu (GRFF), Luo (GORF) and He (AsK-RFF), re-run by ``rf reproduce NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rf.papers.experiments.columns import COLUMNS
from rf.papers.experiments.he.ask_accuracy import ASK_ACCURACY
from rf.papers.experiments.he.ask_curves import ASK_CURVES, ASK_MASSES
from rf.papers.experiments.he.ask_errors import ASK_ERRORS
from rf.papers.experiments.liu.accuracy_curves import GORF_ACCURACY, LIU_ACCURACY
from rf.papers.experiments.liu.error_curves import GORF_CURVES, LIU_ERRORS
from rf.papers.experiments.liu.nystroem_losses import NYSTROEM_LOSSES
from rf.papers.experiments.liu.sampling import LIU_SAMPLING
from rf.papers.experiments.liu.times import LIU_TIMES
from rf.papers.experiments.luo.digmm_bias import DIGMM_BIAS
from rf.papers.experiments.luo.gaussian_errors import GAUSSIAN_ERRORS
from rf.papers.experiments.luo.gorf_errors import GORF_ERRORS
from rf.papers.experiments.luo.gorf_variance import GORF_VARIANCE
from rf.papers.experiments.luo.housing import HOUSING
from rf.papers.experiments.tables import Experiment

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        "liu-times": LIU_TIMES,
        "liu-errors": LIU_ERRORS,
        "liu-accuracy": LIU_ACCURACY,
        "liu-sampling": LIU_SAMPLING,
        "gorf-variance": GORF_VARIANCE,
        "gorf-curves": GORF_CURVES,
        "gorf-accuracy": GORF_ACCURACY,
        "gorf-errors": GORF_ERRORS,
        "gorf-housing": HOUSING,
        "digmm-bias": DIGMM_BIAS,
        "ask-errors": ASK_ERRORS,
        "ask-masses": ASK_MASSES,
        "ask-curves": ASK_CURVES,
        "ask-accuracy": ASK_ACCURACY,
        "gaussian-errors": GAUSSIAN_ERRORS,
        "nystroem-losses": NYSTROEM_LOSSES,
        "columns": COLUMNS,
    }
)
