"""From what a user types to a kernel: a name of the catalogue, or a formula in z or u."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spectra.errors import ParameterError
from spectra.families.asymmetric import AsymmetricFamily
from spectra.families.named import Family, catalogue
from spectra.formula.parsing import parse_formula
from spectra.kernel import Kernel, radial, zonal

__all__ = ["kernel_from_text"]


def kernel_from_text(
    text: str,
    *,
    support: float | str | None = None,
    is_zonal: bool | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """Find or make the kernel that a text names.

    Parameters
    ----------
    text : str
        A name of the catalogue (a family takes its default parameters), or a formula in
        z = |x - y| or in u = <x, y>.
    support : number or str, optional
        Radius beyond which a formula in z is zero.
    is_zonal : bool, optional
        Whether the formula is in u; by default it is where the text contains the name ``u``.
    parameters : mapping, optional
        Values by name: numbers, or texts such as ``"sqrt(3)/2"``.

    Raises
    ------
    ParameterError
        For a name that the catalogue does not hold, and for parameters that do not fit.
    FormulaError
        Where the text is not a formula.

    Examples
    --------
    >>> print(kernel_from_text("matern", parameters={"nu": "3/2"}))
    matern(nu=3/2, length=1)
    >>> kernel_from_text("(1 + u)/2").is_zonal
    True
    """
    values = {name: _number(value) for name, value in (parameters or {}).items()}
    if text in catalogue:
        if support is not None or is_zonal:
            raise ParameterError(
                f"{text!r} is a kernel of the catalogue, whose support and variable are known: "
                "they cannot be set."
            )
        named: Kernel | Family | AsymmetricFamily = catalogue[text]
        if isinstance(named, AsymmetricFamily):
            raise ParameterError(
                f"{text!r} is an asymmetric kernel, a function of x - y and not of |x - y|. Make "
                f"it with catalogue[{text!r}]({named.vector}=..., sigma=...); rf.AsKRFF and "
                "rf.SpectralFeatures take it."
            )
        if isinstance(named, Family):
            return named(**values)
        if values:
            raise ParameterError(f"The kernel {text!r} has no parameters, not {', '.join(values)}.")
        return named
    if re.fullmatch(r"[A-Za-z_]\w*", text) and text not in ("z", "u", *values):
        raise ParameterError(
            f"There is no kernel {text!r} in the catalogue; it holds {', '.join(catalogue)}. A "
            "formula must contain z = |x - y| or u = <x, y>."
        )
    if is_zonal is None:
        is_zonal = re.search(r"\bu\b", text) is not None
    if not is_zonal:
        return radial(text, support=None if support is None else _number(support), **values)
    if support is not None:
        raise ParameterError("A kernel in u lives on the unit sphere: it takes no support.")
    return zonal(text, **values)


def _number(value: Any) -> Any:
    """Read a number that was typed; anything else goes to the checks of the kernel itself."""
    return parse_formula(value, variable="z") if isinstance(value, str) else value
