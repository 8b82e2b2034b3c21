"""Spectra with known covariances: Gaussian, Matern, JONSWAP waves, the cold dark matter of BBKS."""

from fractions import Fraction

import numpy as np
from scipy import special

__all__ = ["BBKS", "bbks", "gaussian", "jonswap", "jonswap_covariance", "matern"]

#: The transfer function of Bardeen, Bond, Kaiser and Szalay (1986), equation G3, times k.
BBKS = (
    "k*(log(1 + 2.34*k)/(2.34*k))**2*(1 + 3.89*k + (16.1*k)**2 + (5.46*k)**3 + (6.71*k)**4)**(-1/2)"
)


def bbks(k):
    inner = 1 + 3.89 * k + (16.1 * k) ** 2 + (5.46 * k) ** 3 + (6.71 * k) ** 4
    return k * (np.log1p(2.34 * k) / (2.34 * k)) ** 2 / np.sqrt(inner)


def gaussian(dim):
    """The power spectrum of exp(-z^2/2) as a formula and a function, and the covariance."""
    text = f"(2*pi)**({dim}/2)*exp(-k**2/2)"
    front = (2 * np.pi) ** (dim / 2)
    return text, lambda k: front * np.exp(-(k**2) / 2), lambda z: np.exp(-z * z / 2)


def matern(nu, dim):
    """The same for the Matern covariance 2^(1 - nu)/Gamma(nu) z^nu K_nu(z); nu = p/q as text."""
    number = float(Fraction(nu))
    ratio = special.gamma(number + dim / 2) / special.gamma(number)
    front = f"2**{dim}*pi**({dim}/2)*gamma({nu} + {dim}/2)/gamma({nu})"

    def covariance(z):
        x = np.where(z == 0.0, 1.0, z)
        value = 2 ** (1 - number) / special.gamma(number) * x**number * special.kv(number, x)
        return np.where(z == 0.0, 1.0, value)

    def power(k):
        return 2**dim * np.pi ** (dim / 2) * ratio * (1 + k**2) ** (-number - dim / 2)

    return f"{front}*(1 + k**2)**(-{nu} - {dim}/2)", power, covariance


def jonswap(f, period=8.0, peak=3.3):
    """The one-sided spectrum of wind waves in Hz, Hasselmann et al. (1973), up to a factor."""
    x = f * period
    width = np.where(x <= 1.0, 0.07, 0.09)
    return f**-5.0 * np.exp(-1.25 * x**-4.0) * peak ** np.exp(-((x - 1.0) ** 2) / (2 * width**2))


def jonswap_covariance(tau):
    """Its covariance at one lag, by Gauss-Legendre panels of at most a quarter of a wave."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = [0.01]
    while edges[-1] < (2000.0 if tau else 1e5):
        last = edges[-1]
        following = (1.04 * last, last + 1.5 / max(tau, 1e-9), 0.125 if last < 0.125 else np.inf)
        edges.append(min(following))
    low, high = np.array(edges[:-1])[:, None], np.array(edges[1:])[:, None]
    f, half = 0.5 * (low + high) + 0.5 * (high - low) * nodes, 0.5 * (high - low)
    return float(np.sum(jonswap(f) * np.cos(2 * np.pi * f * tau) * weights * half))
