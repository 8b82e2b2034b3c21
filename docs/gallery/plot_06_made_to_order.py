"""
Made to order
=============

The neural tangent kernel has no finite measure in d = 16. On the distances that rows without
negative entries have, z ≤ √2, a signed measure of little mass represents it to any tolerance;
what a tolerance costs is the mass.
"""

import matplotlib.pyplot as plt
import numpy as np

import spectra as sp
from spectra.cli.pictures import draw_error

ntk = sp.catalogue["ntk"]
print(sp.existence(ntk, dim=16))

tols = [0.1, 0.03, 0.01]
made = [sp.design(ntk, 16, domain=(0, np.sqrt(2)), tol=tol, objective="mass") for tol in tols]
for tol, design in zip(tols, made, strict=True):
    print(f"tol {tol}: mass {design.mass:.4g}, error {design.sup_error}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.semilogx(tols, [design.mass for design in made], "o-", color="#1f6fb4")
left.set(xlabel="tolerance", ylabel="mass")
draw_error(right, made[-1])
