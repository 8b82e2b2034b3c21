"""The accuracy contract, and the tolerances that follow from it.

A number in another module that is one of these, or a multiple of one, is written so.  Numbers that
belong to one algorithm (how many nodes, how often to halve) stay with it.
"""

from __future__ import annotations

import numpy as np

__all__ = ["ABSENT", "CHECKED", "DENSITY", "EPS", "EXACT", "FOLDS", "LARGEST_LOG", "MASS",
           "NEGLIGIBLE", "NOISE", "PROBABILITY", "REACH", "SAME", "SERIES", "SINGLE",
           "VALUE"]  # fmt: skip

# --- the contract: docs/decisions/0007 and 0013 ---------------------------------------------------

#: Largest error of w |rho(w)|, relative to its largest value.
DENSITY = 1e-12
#: Below this share of its largest value w |rho(w)| counts as 0, except in power laws.
ABSENT = 1e-16
#: Largest error of a mass, relative to the total mass.
MASS = 1e-10
#: Largest error of the quantiles of a table in probability, unless another one is requested.
PROBABILITY = 1e-12

# --- doubles --------------------------------------------------------------------------------------

EPS = float(np.finfo(float).eps)
#: The same of single precision, in which users may give data.
SINGLE = float(np.finfo(np.float32).eps)
#: Rounding of a value of a formula, or of the last few operations of a sum of logarithms.
VALUE = 8.0 * EPS
#: Squares of exp(LARGEST_LOG) are doubles.
LARGEST_LOG = 340.0
#: Radii, frequencies, powers and totals are the same if they differ by this share: by rounding.
SAME = 1e-9

# --- what follows ---------------------------------------------------------------------------------

#: Terms, tails and values are left out below this share of the whole; random doubles are multiples
#: of 2^-53, which is ten times larger.
NEGLIGIBLE = ABSENT / 10.0
#: exp(-FOLDS) is negligible: integrands and logarithmic ranges are followed for so many e-folds.
FOLDS = 40.0
#: A Gaussian is negligible beyond so many deviations, as is a chi distribution above its mean.
REACH = 9.0
#: Largest last coefficients of a series for a density: 50 panels of one sign stay within DENSITY.
SERIES = DENSITY / 50.0
#: The same for a series through exact values.
EXACT = 2.0 * EPS
#: Differences of integrals beyond their stated errors that a check lets pass.
CHECKED = DENSITY / 5.0
#: Errors of size e at the nodes change a coefficient by up to 4 e.  A value is known not to be 0 if
#: it is larger than this many bounds of its error.
NOISE = 4.0
