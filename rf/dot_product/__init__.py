"""Methods for kernels of <x, y> and for bounded ranges of distances, compared on the data.

A kernel on the unit sphere, or one without a finite measure on R^d, can be approximated in several
ways, and which one is best depends on the kernel, the dimension, the number of columns and the
distances of the data.  ``problem`` collects these.  Each method has a file and gives candidates:
the exact polynomial map (``exact_powers``), designed plane waves with or without exact low powers
(``designed_waves``), and steps and ramps for the arc-cosine family (``neurons``).  ``comparison``
measures their errors and chooses.

``inside_kink`` is for kernels of the l1 distance that are straight on the range of the data.
"""
