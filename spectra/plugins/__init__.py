"""Our kernels in other libraries, one to a file, each with an extra of its own.

``scikit_learn``, ``gstools``, ``pymc``, ``numpyro``, ``gpjax``; ``jax_functions`` serves the
libraries on JAX.
"""
