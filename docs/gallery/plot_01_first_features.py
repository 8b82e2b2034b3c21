"""
First features
==============

The same kernel, exp(−z²/5000) on scikit-learn's digits, the same number of columns: the error of
the kernel matrix with ``SpectralFeatures``, what it says of that error beforehand, and the error
of ``RBFSampler``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel

from rf import SpectralFeatures

X = load_digits().data[:400]
K = rbf_kernel(X, gamma=1 / 5000)
columns = [64, 128, 256, 512]

ours, said, theirs = [], [], []
for n in columns:
    features = SpectralFeatures("exp(-z**2/5000)", n_components=n, random_state=0).fit(X)
    Z = RBFSampler(gamma=1 / 5000, n_components=n, random_state=0).fit_transform(X)
    ours.append(np.linalg.norm(features.gram(X) - K) / np.linalg.norm(K))
    said.append(features.expected_error_)
    theirs.append(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))

for row in zip(columns, ours, said, theirs, strict=True):
    print("{:4d} columns: SpectralFeatures {:.4f} (said {:.4f}), RBFSampler {:.4f}".format(*row))

figure, axes = plt.subplots(layout="constrained")
axes.loglog(columns, theirs, "s--", color="#c8442d", label="RBFSampler")
axes.loglog(columns, ours, "o-", color="#1f6fb4", label="SpectralFeatures")
axes.loglog(columns, said, "k+", ms=10, label="said beforehand")
axes.set_xticks(columns, columns)
axes.minorticks_off()
axes.set(xlabel="columns", ylabel="relative error of K")
axes.legend(frameon=False)
