"""Families of Gneiting, Bernoulli 19 (2013) 1327, table 1, and what the literature says of S^2.

Each row has a formula or name, its parameters, lengths, and whether it is positive definite on S^2.
The refuted ones have exponents or smoothness beyond the range of the table; None: no answer there.
"""

from __future__ import annotations

from typing import Any

LENGTHS = (0.1, 1, 3, 6)
UP_TO_PI = (0.1, 1, 3)
CAUCHY = "(1 + z**a)**(-t/a)"
DAGUM = "1 - (z**t/(1 + z**t))**(a/t)"

ROWS: list[tuple[str, dict[str, Any], tuple[float, ...], bool | None]] = [
    ("exp(-z**a)", {"a": 0.5}, LENGTHS, True),
    ("exp(-z**a)", {"a": 1}, LENGTHS, True),
    ("exp(-z**a)", {"a": 1.2}, LENGTHS, False),
    ("exp(-z**a)", {"a": 1.5}, LENGTHS, False),
    ("exp(-z**a)", {"a": 2}, LENGTHS, False),
    ("matern", {"nu": 0.25}, LENGTHS, True),
    ("matern", {"nu": 0.5}, LENGTHS, True),
    ("matern", {"nu": 0.75}, LENGTHS, False),
    ("matern", {"nu": 1.5}, LENGTHS, False),
    (CAUCHY, {"a": 0.7, "t": 0.3}, LENGTHS, True),
    (CAUCHY, {"a": 1, "t": 2}, LENGTHS, True),
    (CAUCHY, {"a": 1.5, "t": 0.3}, LENGTHS, False),
    (CAUCHY, {"a": 2, "t": 2}, LENGTHS, False),
    (DAGUM, {"a": 0.5, "t": 0.7}, LENGTHS, True),
    (DAGUM, {"a": 0.5, "t": 1}, LENGTHS, True),
    ("(1-d)**(2*t)/(1 + d**2 - 2*d*cos(z))**t", {"d": 0.4, "t": 0.7}, (1,), True),
    ("1 - sin(z/2)**a", {"a": 1.5}, (1,), True),
    ("1 - sin(z/2)**a", {"a": 0.5}, (1,), True),
    ("1 - z/pi", {}, (1,), True),
    ("spherical", {}, LENGTHS, True),
    ("askey", {"power": 2}, LENGTHS, True),
    ("askey", {"power": 3}, LENGTHS, True),
    ("(1 + 4*z)*(1 - z)**4", {"support": 1}, UP_TO_PI, True),
    ("(1 + 6*z + 35*z**2/3)*(1 - z)**6", {"support": 1}, UP_TO_PI, True),
    ("circular", {}, (1,), None),
    ("1 - z", {"support": 1}, (0.1, 1), False),
]
