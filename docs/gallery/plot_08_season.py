"""
A season that fades
===================

Six years of a yearly wave whose shape drifts, with noise, and a forecast of two more by ridge
regression on 256 columns of a periodic kernel under a slow weight, beside a trend.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import spectra as sp
from rf import SpectralFeatures

season = sp.radial("exp(-2*sin(pi*z)**2/l**2)", l=0.7)
slow = sp.radial("exp(-z**2/2)").rescale(6)
kernel = season.on([0]) * slow.on([0]) + 0.5 * slow.on([0])

rng = np.random.default_rng(0)
years = np.sort(rng.uniform(0, 6, 300))
truth = lambda t: np.sin(2 * np.pi * t) + 0.3 * np.cos(4 * np.pi * t) + 0.15 * t  # noqa: E731
values = truth(years) + 0.2 * rng.normal(size=years.size)
model = make_pipeline(SpectralFeatures(kernel, n_components=256, random_state=0), Ridge(0.1))
model.fit(years[:, None], values)

later = np.linspace(6, 8, 9)
forecast = model.predict(later[:, None])
for t, said, true in zip(later, forecast, truth(later), strict=True):
    print(f"year {t:.2f}: forecast {said:+.2f}, truth {true:+.2f}")

figure, axes = plt.subplots(layout="constrained")
t = np.linspace(0, 8, 400)
axes.plot(years, values, ".", color="0.6", ms=3, label="data")
axes.plot(t, truth(t), "k-", lw=1, label="truth")
axes.plot(t, model.predict(t[:, None]), color="#1f6fb4", label="ridge on 256 columns")
axes.plot(later, forecast, "o", color="#1f6fb4")
axes.set(xlabel="year", ylabel="value")
axes.legend(frameon=False)
