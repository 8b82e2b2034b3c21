"""Any analytic formula on the half-line: sums along rays in the plane, expansions at both ends.

Read in this order: ``half_line`` (the door), ``prepared``, ``waves/read_waves`` and ``ends`` (the
formula as a sum of waves, and its expansions at zero and infinity), ``outwards`` (panels from the
bulk on, by the sums of :mod:`spectra.density.half_line.sums`), ``endings`` (beyond the last
panel), ``waves/slow_waves`` (waves that decay slowly: densities that are singular at their
frequencies).
"""
