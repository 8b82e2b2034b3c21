"""The portfolio: features made to order for a kernel, a number of columns and the data.

A kernel on the unit sphere, or one without a finite measure on R^d, can be served in several ways,
and which is best depends on the kernel, the dimension, the number of columns and the distances
that occur.  Each member has a file and makes offers (``candidate``): the exact polynomial map
(``exact_powers``), designed plane waves with or without exact low powers (``designed_waves``),
steps and ramps for the arc-cosine family (``neurons``) and Gegenbauer features
(``zonal_features``).  ``comparison`` compares them by the error that is seen on a sample, and
``problem`` finds the range of distances and puts the order.

``inside_kink`` serves kernels of the l1 distance.
"""

from rf.dot_product.zonal_features import ZonalMap, gegenbauer_coefficients

__all__ = [
    "ZonalMap",
    "gegenbauer_coefficients",
]
