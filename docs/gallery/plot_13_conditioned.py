"""
A field through data
====================

Paths of a Gaussian field led through six noisy values: their mean and deviation are those of
kriging, and each path is a function that can be asked anywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

from rf import GaussianField

field = GaussianField("matern(nu=5/2)", dim=1, n_components=512, random_state=0)
X = np.array([[-3.0], [-2.0], [-0.5], [0.5], [2.5], [3.0]])
y = np.array([0.5, -0.5, 0.8, 1.0, -0.2, 0.1])
given = field.condition(X, y, noise=0.05)

line = np.linspace(-5, 5, 201)[:, None]
mean, deviation = given.mean(line), given.std(line)
paths = given.sample(line, n_paths=5)
for place in (60, 100, 150, 200):
    seen = ", ".join(f"{value:+.2f}" for value in paths[:, place])
    print(f"x = {line[place, 0]:+.1f}: {mean[place]:+.3f} ± {deviation[place]:.3f}, paths {seen}")

figure, axes = plt.subplots(layout="constrained")
x = line[:, 0]
axes.fill_between(x, mean - 2 * deviation, mean + 2 * deviation, color="#1f6fb4", alpha=0.15)
axes.plot(x, paths.T, lw=0.8, color="#1f6fb4")
axes.plot(x, mean, "k-", lw=1)
axes.plot(X[:, 0], y, "o", color="#c8442d")
axes.set(xlabel="x", ylabel="value")
