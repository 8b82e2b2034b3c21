"""
Ridge regression in a Krein space
=================================

``KreinRidge`` follows the signs of the columns: its predictions are those of the kernel machine
with the indefinite matrix K itself, and come nearer to them as columns are added.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from rf import KreinRidge, SpectralFeatures

kernel = sp.radial("exp(-z**2/2) - exp(-z**2/8)/2")
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(300, 2))
y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=300)
new = rng.uniform(-2, 2, size=(200, 2))
exact = kernel.gram(new, X) @ np.linalg.solve(kernel.gram(X) + np.eye(300), y)

columns, apart = [64, 128, 256, 512, 1024], []
for n in columns:
    squares = []
    for seed in range(8):
        features = SpectralFeatures(
            kernel, n_components=n, random_state=seed, mixed_signature="ignore"
        )
        found = KreinRidge(features, alpha=1.0).fit(X, y).predict(new)
        squares.append(np.mean((found - exact) ** 2))
    apart.append(np.sqrt(np.mean(squares)) / np.std(exact))
    print(f"{n:4d} columns: {apart[-1]:.4f} from the kernel machine, relative to its deviation")

figure, axes = plt.subplots(layout="constrained")
axes.loglog(columns, apart, "o-", color="#1f6fb4")
axes.set_xticks(columns, columns)
axes.minorticks_off()
axes.set(xlabel="columns", ylabel="distance from the kernel machine")
