"""Signs of the output columns of a transformer, also through pipelines and column transformers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices

from spectra.base.arrays import FloatArray
from spectra.errors import ParameterError
from spectra.table import SpectralTable

__all__ = ["signature_of"]

# The signs of columns; None if all are +1.
Signs = FloatArray | None


def signature_of(features: Any, rows: Any) -> FloatArray:
    """The signs of the output columns of a fitted transformer.

    Columns keep their signs through pipelines, unions, column transformers, column selections and
    frozen estimators, nested in any way.  The columns of the data have the sign +1, and so have the
    columns that a transformer without ``signature_`` computes from them.

    ``rows`` (n, d): the first row is transformed to find the number of columns of each step.
    """
    signs = _signs(features, None, rows[:1])
    return np.ones(features.transform(rows[:1]).shape[1]) if signs is None else signs


def _signs(step: Any, input_signs: Signs, row: Any) -> Signs:
    """Signs of the output columns of a fitted step, from the signs of its input columns."""
    if _keeps_columns(step):
        return input_signs
    if isinstance(step, FrozenEstimator):
        return _signs(step.estimator, input_signs, row)
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            input_signs = _signs(inner, input_signs, row)
            row = row if _keeps_columns(inner) else inner.transform(row)
        return input_signs
    if isinstance(step, FeatureUnion):
        return _union_signs(step, input_signs, row)
    if isinstance(step, ColumnTransformer):
        return _column_transformer_signs(step, input_signs, row)
    if hasattr(step, "get_support"):
        return None if input_signs is None else _none_if_positive(input_signs[step.get_support()])
    if input_signs is not None:
        raise ParameterError(
            f"{type(step).__name__} transforms columns of signature -1, and their signs are lost, "
            "so the model would learn with another kernel. Make the signed features the last step; "
            "only unions, column transformers and selections of columns may follow."
        )
    if hasattr(step, "signature_"):
        return _own_signs(step)
    for inner in _transformers_in(step):
        if _own_signs(inner) is not None:
            raise ParameterError(
                f"{type(step).__name__} contains {type(inner).__name__}, which has columns of "
                "signature -1, and the signs of its own columns are unknown. Give it an attribute "
                "signature_ with a sign for each column, or use the signed features directly, in a "
                "Pipeline, FeatureUnion or ColumnTransformer."
            )
    return None


def _keeps_columns(step: Any) -> bool:
    """Whether the output columns of a step are its input columns."""
    identity = isinstance(step, FunctionTransformer) and step.func is None
    return identity or step is None or step == "passthrough"


def _none_if_positive(signs: FloatArray) -> Signs:
    return signs if np.any(signs < 0) else None


def _own_signs(step: Any) -> Signs:
    """The signs in ``signature_``; an error for an asymmetric kernel."""
    table = getattr(step, "table_", None)
    if isinstance(table, SpectralTable) and not table.is_symmetric:
        raise ParameterError(
            f"The kernel {table.formula} is asymmetric: its matrix needs left and right features, "
            "and these models use one set of features. Use a symmetric kernel."
        )
    return _none_if_positive(np.asarray(getattr(step, "signature_", np.ones(1)), dtype=float))


def _union_signs(union: FeatureUnion, input_signs: Signs, row: Any) -> Signs:
    steps = [step for _, step in union.transformer_list if step != "drop"]
    signs_of_steps = [_signs(step, input_signs, row) for step in steps]
    if all(signs is None for signs in signs_of_steps):
        return None
    return np.concatenate(
        [
            np.ones(row.shape[1] if _keeps_columns(step) else step.transform(row).shape[1])
            if signs is None
            else signs
            for step, signs in zip(steps, signs_of_steps, strict=True)
        ]
    )


def _column_transformer_signs(step: ColumnTransformer, input_signs: Signs, row: Any) -> Signs:
    output_signs = np.ones(max(block.stop for block in step.output_indices_.values()))
    for name, inner, columns in step.transformers_:
        block = step.output_indices_[name]
        if block.stop == block.start:
            continue
        indices = _get_column_indices(row, columns)
        selected_signs = None if input_signs is None else _none_if_positive(input_signs[indices])
        signs = _signs(inner, selected_signs, _safe_indexing(row, indices, axis=1))
        if signs is not None:
            output_signs[block] = signs
    return _none_if_positive(output_signs)


def _transformers_in(step: Any) -> Iterator[Any]:
    """The transformers in the attributes of an estimator, at any depth."""
    values = list(vars(step).values()) if isinstance(step, BaseEstimator) else []
    while values:
        value = values.pop()
        if isinstance(value, BaseEstimator) and hasattr(value, "transform"):
            yield value
            yield from _transformers_in(value)
        elif isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list | tuple):
            values.extend(value)
