"""Define a kernel, decide whether its spectral measure is finite, and tabulate its positive parts.

The path of the data, left to right::

    radial / zonal / catalogue -> Kernel
        -> existence -> Verdict (FINITE, INFINITE or UNDECIDED, with the reason)
        -> .measure  -> SpectralMeasure (masses, sign changes, Jordan parts)
        -> tabulate  -> SpectralTable (inverse CDFs; saved as .npz; read by the package rf)

``spectral_density`` gives the signed density itself, if one of its routes finds it;
``design`` makes a finite measure for a range of distances, if none exists on R^d or to reduce the
variance.

Everything else is a method of these (``measure.certified()``, ``law.cdf``), or in one of the
packages that ``docs/map.md`` lists.

Names are loaded on first use, so that a saved table can be read and sampled without sympy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AsymmetricKernel": "kernels.asymmetric",
    "Design": "designs",
    "Enclosure": "base.enclosures",
    "GroupedKernel": "kernels.grouped",
    "Kernel": "kernels.kernel",
    "L1Kernel": "kernels.l1_kernel",
    "SpectralDensity": "density.components",
    "SpectralMeasure": "measure",
    "SpectralTable": "table",
    "Status": "verdict",
    "Verdict": "verdict",
    "additive": "kernels.grouped",
    "catalogue": "kernels.catalogue",
    "derive": "derivation",
    "design": "designs",
    "existence": "verdict",
    "l1": "kernels.l1_kernel",
    "radial": "kernels.kernel",
    "spectral_density": "density",
    "spectral_measure": "verdict",
    "sphere_coefficients": "verdict.regions.sphere_coefficients",
    "tabulate": "measure.tabulation",
    "time_limit": "base.limits",
    "variogram": "variograms",
    "zonal": "kernels.kernel",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"spectra.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name == "errors":
        return import_module("spectra.errors")
    raise AttributeError(f"module 'spectra' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "errors"]
