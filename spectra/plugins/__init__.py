"""Our kernels in the libraries that people already use, one to a file, each an extra of its own.

``covariance`` is what all of them ask of a kernel; ``scikit_learn``, ``gstools``, ``pymc``,
``numpyro``, ``gpjax``; ``jax_functions`` and ``length_mean`` serve those of JAX.
"""
