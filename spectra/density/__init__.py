r"""Spectral densities of kernels.

The Fourier convention of the whole package is

.. math:: k(\Delta) = \int_{R^d} e^{i\omega\cdot\Delta}\mu(d\omega), \qquad
          k(z) = \int_0^\infty \Omega_d(wz)\rho(w)\,dw, \qquad \rho(w) = S_{d-1} w^{d-1} \mu(w).

Here z = |Delta|, w = |omega| is the radius, mu(w) the density of mu there, rho the radial density,
S_{d-1} the area of the unit sphere and Omega_d(wz) the mean of e^(i omega . Delta) over directions.

A *route* is one method of finding a density: ``lookup`` (closed forms: :mod:`.closed_pairs`,
:mod:`.ball`), ``periodic``, ``series`` (:mod:`.gamma_series`) or ``numeric`` (:mod:`.half_line`,
:mod:`.ball.numeric`, :mod:`.callables`).  :func:`spectral_density` tries them in turn (``routes``)
and compares every density with its kernel (``kernel_check``).
"""

from spectra.density.closed_pairs.pair import summands
from spectra.density.components import Atom, SpectralDensity
from spectra.density.gamma_product import gamma_formula, gamma_products
from spectra.density.lookup import lookup
from spectra.density.routes import AUTO, ROUTES, family_density, spectral_density

__all__ = ["AUTO", "ROUTES", "Atom", "SpectralDensity", "family_density", "gamma_formula",
           "gamma_products", "lookup", "spectral_density", "summands"]  # fmt: skip
