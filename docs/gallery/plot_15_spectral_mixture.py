"""
A spectral mixture
==================

A kernel with a bell of frequencies at each of two tones, narrow where the tone keeps its pitch. Its
density is a formula; ridge regression on 128 columns fills a gap in a sum of the tones, which
columns of a Gaussian kernel do not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import spectra as sp
from rf import SpectralFeatures
from spectra.cli.pictures import draw_radial_density

mixture = sp.catalogue["spectral_mixture"](weights=[1, 0.5], frequencies=[2, 9], lengths=[6, 20])
measure = sp.spectral_measure(mixture, 1)
print("mass:", measure.mass)

rng = np.random.default_rng(0)
truth = lambda t: np.sin(2.05 * t) + 0.5 * np.cos(9.02 * t)  # noqa: E731
times = rng.uniform(0, 20, 250)
times = times[(times < 8) | (times > 11)]
values = truth(times) + 0.1 * rng.normal(size=times.size)
t = np.linspace(7, 12, 400)

figure, (spectrum, series) = plt.subplots(2, layout="constrained")
draw_radial_density(spectrum, measure)
series.plot(t, truth(t), "k-", lw=1, label="truth")
series.plot(times, values, ".", color="0.6", label="data")
for name, kernel, color in (("mixture", mixture, "#1f6fb4"), ("Gaussian", "gaussian", "#c8442d")):
    features = SpectralFeatures(kernel, n_components=128, random_state=0)
    model = make_pipeline(features, Ridge(0.1)).fit(times[:, None], values)
    said = model.predict(t[:, None])
    gap = (t > 8) & (t < 11)
    print(f"{name}: root mean square error in the gap {np.std((said - truth(t))[gap]):.3f}")
    series.plot(t, said, color=color, lw=1, label=name)
series.set(xlabel="time", ylabel="value", xlim=(7, 12))
series.legend(frameon=False, ncols=4)
