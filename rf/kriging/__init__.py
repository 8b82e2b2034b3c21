"""Kriging: fit a family of kernels to data, predict, sample paths and cross-validate.

``regressor`` has the class for users; ``model`` maps vectors to parameters and covariances,
``likelihood`` and ``optimum`` fit them, and ``report`` has the table and the pictures.
"""

from rf.kriging.regressor import Kriging

__all__ = ["Kriging"]
