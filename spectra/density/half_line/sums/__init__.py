"""Sums in ball arithmetic along rays: the values of densities on the half-line.

``contour_integral`` is one integral, ``ray_sums`` the density that is one such integral;
``blocks``, ``blockwise``, ``products`` and ``grid`` compute many radii at once; ``even_kernels``
serves even kernels in odd dimension; ``hankel`` has Hankel functions on rays.
"""
