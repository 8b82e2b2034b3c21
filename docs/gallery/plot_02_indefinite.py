"""
An indefinite kernel
====================

A difference of Gaussians has negative eigenvalues, and no map Z has K = Z Zᵀ. Columns with signs
do: K ≈ (Z · signature) Zᵀ, with the eigenvalues of K on both sides.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from rf import SpectralFeatures

kernel = sp.radial("exp(-z**2/2) - exp(-z**2/200)")
X = np.random.default_rng(0).normal(size=(200, 16)) / 4
features = SpectralFeatures(kernel, n_components=512, random_state=0, mixed_signature="ignore").fit(
    X
)

K, K_hat = kernel.gram(X), features.gram(X)
exact, found = np.linalg.eigvalsh(K), np.linalg.eigvalsh(K_hat)
positive, negative = (int(np.sum(features.signature_ == sign)) for sign in (1, -1))
print(f"{positive} columns of sign +, {negative} of sign -")
print(f"relative error of K: {np.linalg.norm(K - K_hat) / np.linalg.norm(K):.4f}")
print("least eigenvalues, exact:", np.round(exact[:3], 3))
print("least eigenvalues, found:", np.round(found[:3], 3))

figure, axes = plt.subplots(layout="constrained")
axes.plot(exact, "k-", lw=1, label="K")
axes.plot(found, ".", color="#1f6fb4", ms=4, label="(Z · signature) Zᵀ")
axes.set_yscale("symlog", linthresh=1e-2)
axes.set(xlabel="number", ylabel="eigenvalue")
axes.legend(frameon=False)
