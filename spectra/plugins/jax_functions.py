"""Numpy functions as functions of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spectra.base.numbers import FloatArray

__all__ = ["elementwise"]


def elementwise(
    values: Callable[[FloatArray], FloatArray], derivative: Callable[[FloatArray], FloatArray]
) -> Callable[[Any], Any]:
    """Wrap an elementwise numpy function for JAX's ``jit``, ``vmap`` and first-order ``grad``.

    It is evaluated on the host in double precision; the result has the type of the argument.
    """
    import jax

    def on_host(function: Callable[[FloatArray], FloatArray], x: Any) -> Any:
        def evaluate(x: Any) -> Any:
            array = np.asarray(x)
            return np.asarray(function(array.astype(float)), dtype=array.dtype)

        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(evaluate, shape, x, vmap_method="expand_dims")

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def call(x: Any) -> Any:
        return on_host(values, x)

    @call.defjvp  # type: ignore[untyped-decorator]
    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (direction,) = primals, tangents
        return call(x), on_host(derivative, x) * direction

    return lambda x: call(jax.numpy.asarray(x, dtype=jax.numpy.result_type(x, float)))
