"""
The verdict, and its ladder over d
==================================

(1 − z²/4)² up to z = 2 is a difference of positive definite kernels for d < 5 and for no other d.
The mass of its spectrum up to the radius W shows it: it settles in d = 3, grows like log W in d =
5, and like a power of W beyond.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp

kernel = sp.radial("(1 - z**2/4)**2", support=2)
print(sp.existence(kernel))

figure, axes = plt.subplots(layout="constrained")
for dim, style in ((3, "o-"), (4, "s-"), (5, "^--"), (6, "v--")):
    verdict = sp.existence(kernel, dim=dim)
    ladder = verdict.ladder
    masses = np.exp(ladder.log_masses - ladder.log_masses[0])
    steps = ", ".join(f"{m:.3f}" for m in masses)
    print(f"d = {dim}, {verdict.status.value}: masses grow like 1, {steps[7:]}")
    axes.loglog(ladder.radii / ladder.radii[0], masses, style, label=f"d = {dim}")
axes.set_xticks([1, 2, 4, 8], [1, 2, 4, 8])
axes.set_yticks([1, 1.5, 2, 3], [1, 1.5, 2, 3])
axes.minorticks_off()
axes.set(xlabel="radius W, from the first rung on", ylabel="mass up to W, likewise")
axes.legend(frameon=False)
