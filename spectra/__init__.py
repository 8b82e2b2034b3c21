"""Spectral measures of stationary kernels: densities, finiteness of the mass, tables for sampling.

The main steps::

    radial / zonal / catalogue -> Kernel
        -> existence -> Verdict (FINITE, INFINITE or UNDECIDED, with the reason)
        -> .measure  -> SpectralMeasure (masses, sign changes, Jordan parts)
        -> tabulate  -> SpectralTable (inverse CDFs of both parts; saved as .npz; sampled by rf)

``spectral_density`` returns the signed density of the measure.  ``design`` computes a measure that
reproduces the kernel on a range of distances: for kernels of infinite mass, or for less variance.
``docs/map.md`` lists the packages.

Names are imported on first use, so that a saved table can be read and sampled without sympy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_MODULE_OF = {
    "CompositeKernel": "kernels.composite",
    "Design": "designs",
    "Enclosure": "base.enclosures",
    "Kernel": "kernels.kernel",
    "SpectralDensity": "density.components",
    "SpectralMeasure": "measure",
    "SpectralTable": "table",
    "Status": "verdict",
    "Verdict": "verdict",
    "additive": "kernels.composite",
    "catalogue": "kernels.catalogue",
    "derive": "derivation",
    "design": "designs",
    "dot_product": "kernels.dot_product",
    "empirical_variogram": "variograms",
    "existence": "verdict",
    "family": "kernels.catalogue",
    "great_circle": "kernels.great_circle",
    "l1": "kernels.kernel",
    "radial": "kernels.kernel",
    "spectral_density": "density",
    "spectral_measure": "verdict",
    "spectrum": "spectral_input",
    "sphere_coefficients": "verdict.sphere_coefficients",
    "tabulate": "measure.tabulation",
    "time_limit": "base.limits",
    "variogram": "variograms",
    "zonal": "kernels.kernel",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(f"spectra.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    if name == "errors":
        return import_module("spectra.errors")
    raise AttributeError(f"module 'spectra' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "errors"]
