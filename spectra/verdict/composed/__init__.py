"""Verdicts on kernels made of radial ones: grouped, asymmetric, l1."""
