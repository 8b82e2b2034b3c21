"""
Two samples
===========

Equal means and variances, and another shape, two bumps in place of one: the maximum mean
discrepancy sees it, and more clearly the more rows there are.
"""

import matplotlib.pyplot as plt
import numpy as np

from rf import two_sample_test

rng = np.random.default_rng(1)
options = {"length_scale": 0.5, "n_components": 256, "random_state": 0}
rows = [50, 100, 200, 400]
different, same = [], []
for n in rows:
    X, more = rng.normal(size=(2, n, 1))
    Y = rng.choice([-1.0, 1.0], size=(n, 1)) * rng.normal(0.95, 0.31, size=(n, 1))
    different.append(two_sample_test(X, Y, **options))
    same.append(two_sample_test(X, more, **options))
    print(
        f"{n:3d} rows: MMD² {different[-1].mmd2:.4f}, p {different[-1].p_value:.4f}; "
        f"of one law: MMD² {same[-1].mmd2:+.4f}, p {same[-1].p_value:.4f}"
    )

figure, axes = plt.subplots(layout="constrained")
for found, style, label in ((different, "o-", "two laws"), (same, "s--", "one law")):
    values, errors = [f.mmd2 for f in found], [f.standard_error for f in found]
    axes.errorbar(rows, values, errors, fmt=style, capsize=3, label=label)
axes.axhline(0, color="0.7", lw=0.8, zorder=0)
axes.set(xlabel="rows in each sample", ylabel="MMD²")
axes.legend(frameon=False)
