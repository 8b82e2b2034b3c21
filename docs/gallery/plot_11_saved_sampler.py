"""
A sampler in a file
===================

A table is derived once and saved; whoever loads it needs numpy and scipy only. What it draws has
the density of the measure, here that of 1/(1 + z²) in d = 3.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp

table = sp.derive("1/(1 + z**2)", 3)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "k.npz"
    table.save(file)
    print(f"{file.name}: {file.stat().st_size / 1024:.0f} kB")
    loaded = sp.SpectralTable.load(file)
print(loaded)

drawn = loaded.sample(50_000, rng=0)
radii = np.linalg.norm(drawn.frequencies, axis=1)
edges = np.linspace(0, 12, 25)
shares = np.histogram(radii, edges)[0] / radii.size
law = loaded.parts[0].law
exact = np.diff(law.cdf(edges))
worst = np.max(np.abs(shares - exact) / np.sqrt(exact / radii.size))
print(f"shares of the first bins: {np.round(shares[:4], 4)}, exact {np.round(exact[:4], 4)}")
print(f"farthest from the law: {worst:.2f} standard errors of a bin")

figure, axes = plt.subplots(layout="constrained")
axes.stairs(shares / np.diff(edges), edges, fill=True, color="#1f6fb4", alpha=0.5, label="drawn")
w = np.linspace(0.01, 12, 300)
axes.plot(w, law.pdf(w), "k-", lw=1, label="law of the radius")
axes.set(xlabel="radius w", ylabel="density")
axes.legend(frameon=False)
