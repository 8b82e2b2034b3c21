"""The signs of the columns that a transformer makes, through every composite of scikit-learn."""

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

# The signs of columns; None where all are +1.
Signs = FloatArray | None


def signature_of(features: Any, rows: Any) -> FloatArray:
    """The signs of the columns that a fitted transformer makes: +1 where it has none.

    Columns keep their signs through pipelines, unions, column transformers, selections and
    frozen estimators, however they are nested; the data themselves, and what transformers without
    ``signature_`` make of columns of sign +1, have +1.

    ``rows`` (n, d): one row is enough: it is transformed to see how wide the blocks of a union are.
    """
    signs = _signs(features, None, rows[:1])
    return np.ones(features.transform(rows[:1]).shape[1]) if signs is None else signs


def _signs(step: Any, before: Signs, row: Any) -> Signs:
    """Signs of the output columns of a fitted step, from those of its input columns."""
    if _keeps_columns(step):
        return before
    if isinstance(step, FrozenEstimator):
        return _signs(step.estimator, before, row)
    if isinstance(step, Pipeline):
        for _, inner in step.steps:
            before = _signs(inner, before, row)
            row = row if _keeps_columns(inner) else inner.transform(row)
        return before
    if isinstance(step, FeatureUnion):
        return _of_union(step, before, row)
    if isinstance(step, ColumnTransformer):
        return _of_column_transformer(step, before, row)
    if hasattr(step, "get_support"):
        return None if before is None else _all_or_none(before[step.get_support()])
    if before is not None:
        raise ParameterError(
            f"{type(step).__name__} makes other columns of columns of signature -1, whose signs "
            "are lost by that, so that another kernel would be learned. Make the signed features "
            "the last step; unions, column transformers and selections of columns may follow."
        )
    if hasattr(step, "signature_"):
        return _own(step)
    for inner in _transformers_in(step):
        if _own(inner) is not None:
            raise ParameterError(
                f"{type(inner).__name__} makes columns of signature -1 inside of "
                f"{type(step).__name__}, which does not say what becomes of them. Give it an "
                "attribute signature_ with a sign for each of its columns, or take the signed "
                "features by themselves, in a Pipeline, FeatureUnion or ColumnTransformer."
            )
    return None


def _keeps_columns(step: Any) -> bool:
    identity = isinstance(step, FunctionTransformer) and step.func is None
    return identity or step is None or step == "passthrough"


def _all_or_none(signs: FloatArray) -> Signs:
    return signs if np.any(signs < 0) else None


def _own(step: Any) -> Signs:
    """The signs that a transformer states; those of an asymmetric kernel do not make its matrix."""
    table = getattr(step, "table_", None)
    if isinstance(table, SpectralTable) and table.kind == "shifted":
        raise ParameterError(
            f"The kernel {table.formula} is asymmetric: its matrix takes right features beside "
            "the left ones, and signs are for symmetric kernels. Take a symmetric kernel."
        )
    return _all_or_none(np.asarray(getattr(step, "signature_", np.ones(1)), dtype=float))


def _of_union(union: FeatureUnion, before: Signs, row: Any) -> Signs:
    blocks = [step for _, step in union.transformer_list if step != "drop"]
    found = [_signs(block, before, row) for block in blocks]
    if all(signs is None for signs in found):
        return None
    return np.concatenate(
        [
            np.ones(row.shape[1] if _keeps_columns(block) else block.transform(row).shape[1])
            if signs is None
            else signs
            for block, signs in zip(blocks, found, strict=True)
        ]
    )


def _of_column_transformer(step: ColumnTransformer, before: Signs, row: Any) -> Signs:
    out = np.ones(max(block.stop for block in step.output_indices_.values()))
    for name, inner, columns in step.transformers_:
        block = step.output_indices_[name]
        if block.stop == block.start:
            continue
        chosen = _get_column_indices(row, columns)
        entering = None if before is None else _all_or_none(before[chosen])
        signs = _signs(inner, entering, _safe_indexing(row, chosen, axis=1))
        if signs is not None:
            out[block] = signs
    return _all_or_none(out)


def _transformers_in(step: Any) -> Iterator[Any]:
    """The fitted transformers that another holds in its attributes, at any depth."""
    held = list(vars(step).values()) if isinstance(step, BaseEstimator) else []
    while held:
        value = held.pop()
        if isinstance(value, BaseEstimator) and hasattr(value, "transform"):
            yield value
            yield from _transformers_in(value)
        elif isinstance(value, dict):
            held.extend(value.values())
        elif isinstance(value, list | tuple):
            held.extend(value)
