"""Every singular point of a kernel sends out one ray: densities by sums in ball arithmetic.

Read in this order: ``precision`` (of Arb), ``continuation``, ``amplitudes`` (a formula at complex
balls), ``ray`` and ``plane`` (where the kernel is, and which rays may stand for the half-line),
``sector`` (why: it is analytic between them), ``hidden`` (what no step would show), ``sampled``
(what panels ask for), ``hankel`` and ``bessel_k`` (the other factor), ``spans`` and ``windows``
(where terms count), ``products``, ``blocks`` and ``grid`` (many radii at once), ``blockwise`` (how
long, how fine and in how many bits), ``sums`` (the densities), ``even`` (a shorter way in odd
dimension), ``taylor`` and ``beyond`` (the expansion at zero, and what it leaves out).  Kernels with
waves: ``wave``, ``strands`` (sums along several rays), ``slow_turn`` (beside a frequency) and
``wave_sums``.
"""
