"""A design in plain text: what it reaches, what it costs, and its spheres."""

from __future__ import annotations

import numpy as np

from spectra.designs.budget import BudgetDesign
from spectra.designs.least import Design

__all__ = ["as_text"]

# Spheres printed; designs of a kink at z = 0 have dozens.
_MOST_LINES = 40


def as_text(made: Design | BudgetDesign) -> str:
    """The design in words and numbers.

    Examples
    --------
    >>> from spectra.designs import design
    >>> from spectra.kernel import radial
    >>> made = design(radial("exp(-z**2/2)"), 3, domain=(0, 2), tol=1e-2, objective="mass")
    >>> as_text(made).splitlines()[0]
    'exp(-z**2/2) in dimension 3, on distances 0 to 2:'
    """
    low, high = made.domain
    lines = [
        f"{made.kernel} in dimension {made.dim}, on distances {low:g} to {high:.6g}:",
        f"  error at most {made.sup_error.mid + made.sup_error.rad:.4g}",
    ]
    if isinstance(made, Design):
        lines.append(
            f"  mass {made.mass:.6g} (no measure within {made.tol:g} has less than "
            f"{made.mass_lower_bound:.4g}), {made.objective} {made.objective_value:.6g} "
            f"({100 * made.gap:.2g} % above its bound)"
        )
        lines.append(f"  float32 features add an error of about {made.rounding(np.float32):.2g}")
    else:
        lines.append(
            f"  mass {made.mass:.6g}; {made.columns} columns, {made.n_directions} shared directions"
        )
        lines.append(
            f"  expected error {made.expected_error:.4g}: bias {made.bias:.4g}, deviation "
            f"{made.deviation:.4g} (root mean squares over the distances)"
        )
    lines.append(f"  {'radius':>14}  {'mass':>16}")
    pairs = list(zip(made.radii.tolist(), made.masses.tolist(), strict=True))
    lines += [f"  {w:14.8g}  {c:16.9g}" for w, c in pairs[:_MOST_LINES]]
    if len(pairs) > _MOST_LINES:
        lines.append(f"  ... and {len(pairs) - _MOST_LINES} more")
    return "\n".join(lines)
