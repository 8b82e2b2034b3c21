"""
Groups of columns: space and time
=================================

A kernel for places in kilometres and days: smooth in space with one length, rough in time with
another, and a slow trend beside both. The estimate is compared with the kernel itself on pairs of
rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from rf import SpectralFeatures

space, time = sp.radial("exp(-z**2/2)"), sp.radial("exp(-z)")
kernel = space.rescale(0.3).on([0, 1]) * time.rescale(30).on([2]) + 0.3 * time.rescale(365).on([2])
print(sp.existence(kernel))

X = np.random.default_rng(0).uniform(size=(200, 3)) * [1.0, 1.0, 365.0]
K = kernel.gram(X)
columns, errors, said = [128, 256, 512, 1024], [], []
for n in columns:
    features = SpectralFeatures(kernel, n_components=n, random_state=0).fit(X)
    errors.append(np.linalg.norm(features.gram(X) - K) / np.linalg.norm(K))
    said.append(features.expected_error_)
    print(f"{n:4d} columns: error {errors[-1]:.4f}, said {said[-1]:.4f}")

figure, axes = plt.subplots(layout="constrained")
axes.loglog(columns, errors, "o-", color="#1f6fb4", label="seen")
axes.loglog(columns, said, "k+", ms=10, label="said beforehand")
axes.set_xticks(columns, columns)
axes.minorticks_off()
axes.set(xlabel="columns", ylabel="relative error of K")
axes.legend(frameon=False)
