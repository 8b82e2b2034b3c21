"""
Couplings compared
==================

Frequencies that know of one another estimate the same kernel with less variance. The variance of
every coupling is known exactly, so that this comparison draws nothing: Matérn 3/2 in d = 16.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from rf.variance import VarianceModel

table = sp.derive("matern(nu=3/2)", 16)
z = np.linspace(0.1, 6.0, 60)
model, n = VarianceModel(table, z), 64

figure, axes = plt.subplots(layout="constrained")
alone, _ = model.variance((n,), coupling="iid")
for name in ("iid", "orthogonal", "kerdock", "designed"):
    value, _ = model.variance((n,), coupling=name)
    print(f"{name:10s} mean variance, relative to iid: {np.mean(value) / np.mean(alone):.3f}")
    axes.plot(z, np.sqrt(value), label=name)
axes.set(xlabel="distance z", ylabel=f"standard deviation of k̂(z), {n} frequencies")
axes.legend(frameon=False)
