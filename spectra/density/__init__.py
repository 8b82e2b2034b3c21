r"""From a kernel to its spectral density.

The Fourier convention of the whole package is

.. math:: k(\Delta) = \int_{R^d} e^{i\omega\cdot\Delta}\mu(d\omega), \qquad
          \rho(w) = S_{d-1} w^{d-1} \mu(w), \qquad
          k(z) = \int_0^\infty \Omega_d(wz)\rho(w)\,dw,

so that the total mass of mu is k(0) where mu is positive.

``routes`` holds :func:`spectral_density` and the table of routes; ``guard`` checks every density
against its kernel.  The routes: ``lookup`` (:mod:`.closed_pairs`, :mod:`.ball`), ``periodic``,
``series`` (:mod:`.gamma_sums`), ``numeric`` (:mod:`.half_line`, :mod:`.ball.numeric`,
:mod:`.callables`).  ``components`` holds the class of what they return.
"""

from spectra.density.closed_pairs.summands import summands
from spectra.density.components import Atom, SpectralDensity
from spectra.density.gamma_sums.gamma_formula import gamma_formula
from spectra.density.gamma_sums.gamma_product import gamma_products
from spectra.density.lookup import lookup
from spectra.density.routes import AUTO, ROUTES, spectral_density

__all__ = [
    "AUTO",
    "ROUTES",
    "Atom",
    "SpectralDensity",
    "gamma_formula",
    "gamma_products",
    "lookup",
    "spectral_density",
    "summands",
]
