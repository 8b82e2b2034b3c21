"""The sections of the page: verdict, masses, density, and error of random features."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from rf import SpectralFeatures
from rf.explore.question import Question
from spectra import sphere_coefficients
from spectra.base.arrays import FloatArray
from spectra.cli.pictures import draw_density, pyplot
from spectra.density import spectral_density
from spectra.derivation import derive
from spectra.errors import SpectraError
from spectra.kernels import Kernel
from spectra.verdict import as_text, existence

__all__ = ["Answer", "answers"]

#: The table of errors has a column for each number of features and a row for each coupling.
N_COMPONENTS = (64, 256)
COUPLINGS = ("iid", "orthogonal", "auto")
_ROWS = 100  # number of rows of the kernel matrix whose error is shown


@final
@dataclass(frozen=True)
class Answer:
    """One section of the page.

    Attributes
    ----------
    title : str
    lines : tuple of str
        One paragraph each.
    table : tuple of tuples of str
        Rows of cells; the first row and the first column are headings.
    picture : str
        Data URL of a picture.
    refusal : str
        Error message if there is no answer.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    picture: str = ""
    refusal: str = ""


def answers(question: Question) -> list[Answer]:
    """The sections of the page, or one section with the error if the form is invalid.

    Examples
    --------
    >>> sections = answers(Question("exp(-z)", "1"))
    >>> sections[0].lines[0]
    'exp(-z): its spectral measure has finite mass in d = 1'
    >>> [section.title for section in sections]
    ['Verdict', 'Masses', 'Spectral density', 'Error of features']
    """
    sections = _Answers(question)
    try:
        _ = question.kernel, question.dimension
    except SpectraError as error:
        return [Answer("The kernel cannot be read", refusal=_refusal(error))]
    by_title: dict[str, Callable[[], Answer]] = {
        "Verdict": sections.verdict,
        "Masses": sections.masses,
        "Spectral density": sections.density,
        "Error of features": sections.errors,
    }
    return [_answer_or_refuse(title, compute) for title, compute in by_title.items()]


def _answer_or_refuse(title: str, compute: Callable[[], Answer]) -> Answer:
    try:
        return compute()
    except SpectraError as error:
        return Answer(title, refusal=_refusal(error))


def _refusal(error: SpectraError) -> str:
    """The error message, below the formula with the invalid characters marked."""
    message = error.at_shell.replace("with --set", "in the field Parameters")
    return f"{error.pointer}\n{message}".strip("\n")


@final
class _Answers:
    """Computes the sections of the page for one question."""

    def __init__(self, question: Question) -> None:
        self._question = question

    @cached_property
    def _verdict(self) -> Any:
        return existence(self._question.kernel, dim=self._question.dimension)

    def verdict(self) -> Answer:
        """Whether a spectral measure of finite mass exists, with the reasons."""
        return Answer("Verdict", tuple(map(str.strip, as_text(self._verdict).splitlines())))

    def masses(self) -> Answer:
        """The masses of the positive and the negative part."""
        kernel = self._question.kernel
        if isinstance(kernel, Kernel) and kernel.is_zonal:
            return self._masses_on_sphere(kernel)
        if isinstance(kernel, Kernel):
            measure = self._verdict.measure
            return _masses_answer(measure.positive_mass, measure.negative_mass, measure.mass)
        table: Any = derive(kernel, self._question.dimension)
        plus, minus = (sum(p.mass for p in table.parts if p.sign == s) for s in (1.0, -1.0))
        masses = (f"{mass:.12g}" for mass in (plus, minus, plus + minus))
        note = "Parts may overlap, so these are upper bounds." if plus and minus else ""
        return _masses_answer(*masses, note=note)

    def _masses_on_sphere(self, kernel: Kernel) -> Answer:
        """The sums of the positive and of the negative terms of the harmonic series of k(1)."""
        coefficients = sphere_coefficients(kernel, self._question.dimension)
        terms = coefficients.values * coefficients.multiplicity
        plus, minus = float(terms[terms > 0.0].sum()), float(-terms[terms < 0.0].sum())
        tail = coefficients.tail_bound
        rest = f"sums to at most {tail:.3g}" if np.isfinite(tail) else "has no known bound"
        note = (
            "On the unit sphere: sums of the positive and negative terms of k(1) for harmonics of "
            f"degree 0 to {len(terms) - 1}; the rest {rest}."
        )
        return _masses_answer(*(f"{mass:.6g}" for mass in (plus, minus, plus + minus)), note=note)

    def density(self) -> Answer:
        """The picture of the density of the radius."""
        title, kernel = "Spectral density", self._question.kernel
        if not isinstance(kernel, Kernel):
            return Answer(title, ("Shown only for kernels of the Euclidean distance |x - y|.",))
        if kernel.is_zonal:
            return Answer(title, ("A kernel in u has no spectral density on the sphere.",))
        density = spectral_density(kernel, self._question.dimension)
        plt = pyplot()
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        draw_density(axes, density, density.atoms)
        axes.set(xlabel="radius w", ylabel="w rho(w)")
        svg = io.BytesIO()
        figure.savefig(svg, format="svg")
        plt.close(figure)
        data = base64.b64encode(svg.getvalue()).decode()
        note = f"w rho(w), where rho is the density of w = |frequency|, by {density.route}."
        return Answer(title, (note,), picture=f"data:image/svg+xml;base64,{data}")

    def errors(self) -> Answer:
        """The expected error of features for three couplings."""
        X, refusals, table = self._rows(), {}, [("coupling", *map(str, N_COMPONENTS))]
        for coupling in COUPLINGS:
            try:
                cells = [f"{self._error(X, coupling, number):.4f}" for number in N_COMPONENTS]
                table.append((coupling, *cells))
            except SpectraError as error:
                refusals[coupling] = _refusal(error)
        if len(refusals) == len(COUPLINGS):
            return Answer("Error of features", refusal=refusals["auto"])
        lines = (
            "Expected relative error of the kernel matrix (Frobenius norm) by number of columns. "
            f"The {_ROWS} rows are standard normal, divided by sqrt(d), or by the norm for k in u.",
            *(f"{coupling}: {text}" for coupling, text in refusals.items()),
        )
        return Answer("Error of features", lines, tuple(table))

    def _error(self, X: FloatArray, coupling: str, n_components: int) -> float:
        features = SpectralFeatures(
            self._question.kernel,
            n_components=n_components,
            coupling=coupling,
            mixed_signature="ignore",
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(features.fit(X).expected_error_)

    def _rows(self) -> FloatArray:
        """The rows of the matrix whose error is shown."""
        d, kernel = self._question.dimension, self._question.kernel
        X = np.random.default_rng(0).normal(size=(_ROWS, d)) / np.sqrt(d)
        if isinstance(kernel, Kernel) and kernel.is_zonal:
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X)


def _masses_answer(positive: Any, negative: Any, total: Any, *, note: str = "") -> Answer:
    rows = ("positive part", str(positive)), ("negative part", str(negative)), ("both", str(total))
    return Answer("Masses", (note,) if note else (), (("part", "mass"), *rows))
