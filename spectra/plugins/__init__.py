"""Our kernels in other libraries, one to a file, each with an extra of its own.

``scikit_learn``, ``gstools``, ``pymc``, ``numpyro``, ``gpjax``; ``extras`` imports the
libraries, ``jax_functions`` serves those on JAX.
"""
