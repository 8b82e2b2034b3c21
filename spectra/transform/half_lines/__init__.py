"""Any analytic formula on the half-line: contours in the plane, expansions at both ends.

Read in this order: ``half_line`` (the door), ``prepared``, ``forms`` and ``ends`` (the formula, and
its expansions at zero and infinity), ``outwards`` (panels from the bulk on, by the sums of
:mod:`spectra.transform.rays` or by paths), ``endings`` and ``remainder`` (beyond the last panel).
Waves that decay slowly: ``waves`` (a formula as a sum of them), ``slow_waves`` and ``between``
(densities that are singular at their frequencies).  Paths: ``quarter_plane`` and ``phases`` (where
the formula is analytic), ``paths``, ``wave_paths``,
``path_sums`` and ``contours``.
"""
