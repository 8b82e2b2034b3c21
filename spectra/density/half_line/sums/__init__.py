"""Every singular point of a kernel sends out one ray: densities by sums in ball arithmetic.

The path of a number.  A formula at complex balls (``precision``, ``continuation``, ``amplitudes``)
is a function on a ray (``ray``), which stands for the half-line where the kernel is analytic
between the two (``plane``, and why: ``sector``; what no step would show: ``hidden``).  With Hankel
functions on that ray (``hankel``, ``bessel_k``) it makes a strand, one integral (``strand``, its
parts: ``windows``).  Strands are summed at equal steps of log z for a whole block of log w at once
(``blocks``, by ``products``), as long, as fine and in as many bits as their errors ask for
(``blockwise``), and read between the radii of a block (``grid``), at the nodes of panels
(``sampled``).

Who has which strands: ``sums`` (the kernel on one ray, the cheapest), ``strands`` (several at
once), and for kernels with waves ``wave``, ``slow_turn`` (beside a frequency) and ``wave_sums``.
Without strands: ``even`` (a shorter way in odd dimension), ``taylor`` and ``beyond`` (the expansion
at zero, and what it leaves out).  ``kept`` is how objects here remember their answers.
"""
