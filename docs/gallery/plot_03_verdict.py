"""
The verdict, and the mass up to a radius
========================================

(1 − z²/4)² up to z = 2 is a difference of positive definite kernels for d < 5 and for no other d.
The mass of its spectrum up to the radius W shows it: it settles in d = 3, grows like log W in d =
5, and like a power of W beyond.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp

kernel = sp.radial("(1 - z**2/4)**2", support=2)
print(sp.existence(kernel))

edges = np.concatenate([[0.0], 20.0 * 2.0 ** np.arange(4)])
figure, axes = plt.subplots(layout="constrained")
for dim, style in ((3, "o-"), (4, "s-"), (5, "^--"), (6, "v--")):
    density = sp.spectral_density(kernel, dim)
    w = np.linspace(0.0, edges[-1], 20_001)[1:]
    up_to = np.cumsum(np.abs(density.radial(w))) * (w[1] - w[0])
    masses = np.interp(edges[1:], w, up_to)
    masses /= masses[0]
    print(f"d = {dim}, {sp.existence(kernel, dim).status.value}: {np.round(masses, 3)}")
    axes.loglog(edges[1:], masses, style, label=f"d = {dim}")
axes.set(xlabel="radius W", ylabel="mass up to W, relative to that up to 20")
axes.legend(frameon=False)
