"""Write down a kernel, get its spectral measure, learn whether it splits, and tabulate its parts.

The path of the data, left to right::

    radial / zonal / catalogue -> Kernel
        -> existence -> Verdict (FINITE, INFINITE or UNDECIDED, with the reason)
        -> .measure  -> SpectralMeasure (masses, sign changes, Jordan parts)
        -> tabulate  -> SpectralTable (inverse CDFs; saved as .npz; read by the package rf)

``spectral_density`` gives the signed density itself, for every kernel that a route knows;
``design`` makes a finite measure for a range of distances, where none exists or a better one is
wanted.

Names are loaded on first use, so that a saved table can be read and sampled without sympy.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AsymmetricKernel": "asymmetric",
    "AsymmetricTable": "modulated",
    "BudgetDesign": "designs",
    "Design": "designs",
    "Enclosure": "quadrature",
    "Kernel": "kernel",
    "PriceCurve": "designs",
    "TailedDesign": "designs",
    "SpectralDensity": "density",
    "SpectralMeasure": "measure",
    "SpectralTable": "table",
    "Status": "verdict",
    "TableCache": "cache",
    "Verdict": "verdict",
    "asymmetric_table": "asymmetric_measure",
    "catalogue": "families",
    "certified_masses": "certify",
    "certify_table": "certify",
    "derive": "derivation",
    "design": "designs",
    "design_for_budget": "designs",
    "design_with_tail": "designs",
    "existence": "verdict",
    "plane_wave_mean": "special",
    "price_curve": "designs",
    "radial": "kernel",
    "sphere_coefficients": "sphere",
    "spectral_density": "transform",
    "spectral_measure": "verdict",
    "symbolic_density": "transform",
    "tabulate": "tabulation",
    "time_limit": "steps",
    "truncate": "measure",
    "zonal": "kernel",
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
