"""Polynomials of least error, by the exchange algorithm of Remez, in mpmath."""

from mpmath import mp

_POINTS = 60  # of the grid, for each coefficient


def minimax(function, weight, degree, end):
    """The P of least max weight(z) |function(z) - P(z)| on [0, end], and that maximum.

    Coefficients come with the lowest power first.
    """
    n = degree + 2
    last = _POINTS * n
    grid = [end * (1 - mp.cos(mp.pi * i / last)) / 2 for i in range(last + 1)]
    values, weights = [function(z) for z in grid], [weight(z) for z in grid]
    # A weight of zero at the end of the grid makes no extremum there.
    at = [max(1, round(last * (i + 0.5) / n)) for i in range(n)]
    while True:
        system = mp.matrix(n, n)
        for row, i in enumerate(at):
            for k in range(degree + 1):
                system[row, k] = grid[i] ** k
            system[row, degree + 1] = (-1) ** row / weights[i]
        solution = mp.lu_solve(system, mp.matrix([values[i] for i in at]))
        coefficients = [solution[k] for k in range(degree + 1)]
        errors = [
            w * (f - mp.polyval(coefficients[::-1], z))
            for z, f, w in zip(grid, values, weights, strict=True)
        ]
        found = _extrema(errors, n)
        if found == at:
            return coefficients, max(abs(e) for e in errors)
        at = found


def _extrema(errors, n):
    """The largest error of each stretch of one sign, n of them."""
    found = []
    for i in range(1, len(errors)):
        if found and (errors[i] > 0) == (errors[found[-1]] > 0):
            if abs(errors[i]) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > n:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found
