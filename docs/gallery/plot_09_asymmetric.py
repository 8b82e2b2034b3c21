"""
An asymmetric kernel
====================

``K(x, y) = k(|x − y + r|)`` says that y stands ahead of x by r: K(x, y) and K(y, x) differ. Such
kernels have features on both sides, K ≈ Z Wᵀ, with exact masses.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from rf import SpectralFeatures

kernel = sp.radial("exp(-z**2/2)").shift([0.8, 0.0])
line = np.linspace(-4, 4, 81)
X = np.column_stack([line, np.zeros_like(line)])
features = SpectralFeatures(kernel, n_components=1024, random_state=0).fit(X)
K = kernel.gram(X)
K_hat = features.transform(X) @ features.transform_right(X).T

print(f"relative error of K: {np.linalg.norm(K_hat - K) / np.linalg.norm(K):.4f}")
print(f"K(0, 1) = {K[40, 50]:.4f}, found {K_hat[40, 50]:.4f}")
print(f"K(1, 0) = {K[50, 40]:.4f}, found {K_hat[50, 40]:.4f}")

figure, axes = plt.subplots(layout="constrained")
axes.plot(line, K[:, 40], "k-", lw=1, label="K(x, 0)")
axes.plot(line, K[40], "k--", lw=1, label="K(0, x)")
axes.plot(line[::4], K_hat[::4, 40], "o", color="#1f6fb4", ms=4, label="estimates")
axes.plot(line[::4], K_hat[40, ::4], "o", color="#1f6fb4", ms=4)
axes.set(xlabel="x", ylabel="K")
axes.legend(frameon=False)
