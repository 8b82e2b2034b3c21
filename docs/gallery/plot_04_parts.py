"""
A spectrum in two parts
=======================

exp(−z) cos 2z in d = 3 has a spectrum of both signs. Its parts are the measures of two positive
definite kernels whose difference it is; their masses come with errors.
"""

import matplotlib.pyplot as plt

import spectra as sp
from spectra.cli.pictures import draw_radial_density

measure = sp.spectral_measure(sp.radial("exp(-z)*cos(2*z)"), 3)
print("positive part:", measure.positive_mass)
print("negative part:", measure.negative_mass)
print("changes of sign at w =", measure.sign_changes())
print("difference of the masses, which is k(0):", measure.positive_mass - measure.negative_mass)

figure, axes = plt.subplots(layout="constrained")
draw_radial_density(axes, measure)
