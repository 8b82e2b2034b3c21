"""Methods for kernels of <x, y> and for bounded ranges of distances, compared on the data.

Several methods can approximate a kernel on the unit sphere, or one whose spectral measure on R^d is
not finite.  The best one depends on the kernel, the dimension, the number of columns and the
distances in the data.  ``problem`` collects these.  Each method has a file that returns candidates:
the exact map of a polynomial (``exact_powers``), designed plane waves, alone or with exact features
of low powers (``designed_waves``), and random neurons for arc-cosine kernels (``neurons``).
``comparison`` measures their errors and chooses the best.

If biased features are asked for (``domain="data"``), features from the table and Nystroem features
(``nystroem``) are compared too, for any symmetric kernel, on rows that are held out.
"""

from rf.dot_product.nystroem import draw_pivots
from rf.dot_product.split_powers import SplitFit

__all__ = ["SplitFit", "draw_pivots"]
