"""The answers of the page: verdict, masses, density, and the error of features."""

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

#: Numbers of columns and couplings whose errors are shown.
COLUMNS = (64, 256)
COUPLINGS = ("iid", "orthogonal", "auto")
_ROWS = 100


@final
@dataclass(frozen=True)
class Answer:
    """One section of the page.

    Attributes
    ----------
    title : str
    lines : tuple of str
        Sentences.
    table : tuple of tuples of str
        Rows of cells; the first row is the head, the first cell of a row names it.
    picture : str
        Address of a picture, with the data inside.
    refusal : str
        Why there is no answer, and what to do.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()
    picture: str = ""
    refusal: str = ""


def answers(question: Question) -> list[Answer]:
    """All sections of the page; a section that cannot be answered has a refusal.

    Examples
    --------
    >>> found = answers(Question("exp(-z)", "1"))
    >>> found[0].lines[0]
    'exp(-z): its spectral measure has finite mass in d = 1'
    >>> [answer.title for answer in found]
    ['Verdict', 'Masses', 'Spectral density', 'Error of features']
    """
    asked = _Answers(question)
    try:
        _ = question.kernel, question.dimension
    except SpectraError as error:
        return [Answer("The kernel cannot be read", refusal=_refusal(error))]
    sections: dict[str, Callable[[], Answer]] = {
        "Verdict": asked.verdict,
        "Masses": asked.masses,
        "Spectral density": asked.density,
        "Error of features": asked.errors,
    }
    return [_answered(title, section) for title, section in sections.items()]


def _answered(title: str, section: Callable[[], Answer]) -> Answer:
    try:
        return section()
    except SpectraError as error:
        return Answer(title, refusal=_refusal(error))


def _refusal(error: SpectraError) -> str:
    """The message, below the text and the characters that it is about."""
    message = error.at_shell.replace("with --set", "in the field Parameters")
    return f"{error.pointer}\n{message}".strip("\n")


@final
class _Answers:
    """The sections of one question."""

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
        kernel, dim = self._question.kernel, self._question.dimension
        head, names = ("part", "mass"), ("positive part", "negative part", "both")
        if isinstance(kernel, Kernel) and kernel.is_zonal:
            return self._shares(kernel)
        if isinstance(kernel, Kernel):
            measure = self._verdict.measure
            known = map(str, (measure.positive_mass, measure.negative_mass, measure.mass))
            return Answer("Masses", table=(head, *zip(names, known, strict=True)))
        table: Any = derive(kernel, dim)
        plus, minus = (sum(p.mass for p in table.parts if p.sign == s) for s in (1.0, -1.0))
        masses = (f"{mass:.12g}" for mass in (plus, minus, plus + minus))
        lines = ("Parts may overlap, so these are upper bounds.",) if plus and minus else ()
        return Answer("Masses", lines, (head, *zip(names, masses, strict=True)))

    def _shares(self, kernel: Kernel) -> Answer:
        """The masses of a kernel in u are those of its shares of k(1) on the sphere."""
        found = sphere_coefficients(kernel, self._question.dimension)
        shares = found.values * found.multiplicity
        plus, minus = float(shares[shares > 0.0].sum()), float(-shares[shares < 0.0].sum())
        lines = (
            "On the unit sphere: sums of the shares of k(1) that harmonics of degree 0 to "
            f"{len(shares) - 1} have; those beyond are at most {found.tail_bound:.3g}.",
        )
        parts = (("positive part", plus), ("negative part", minus), ("both", plus + minus))
        table = (("part", "mass"), *((name, f"{mass:.6g}") for name, mass in parts))
        return Answer("Masses", lines, table)

    def density(self) -> Answer:
        """The density of the radius."""
        title = "Spectral density"
        kernel = self._question.kernel
        if not isinstance(kernel, Kernel):
            line = "Shown for kernels of one distance |x - y|: enter the kernel of a group."
            return Answer(title, (line,))
        if kernel.is_zonal:
            return Answer(title, ("A kernel in u has none on the sphere: see its masses.",))
        density = spectral_density(kernel, self._question.dimension)
        plt = pyplot()
        figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
        draw_density(axes, density, density.atoms)
        axes.set(xlabel="radius w", ylabel="w rho(w)")
        sheet = io.BytesIO()
        figure.savefig(sheet, format="svg")
        plt.close(figure)
        data = base64.b64encode(sheet.getvalue()).decode()
        line = f"w rho(w), with the density rho of the radius w = |frequency|, by {density.route}."
        return Answer(title, (line,), picture=f"data:image/svg+xml;base64,{data}")

    def errors(self) -> Answer:
        """The expected error of features for three couplings."""
        X, refusals, table = self._rows(), {}, [("coupling", *map(str, COLUMNS))]
        for coupling in COUPLINGS:
            try:
                cells = [f"{self._error(X, coupling, columns):.4f}" for columns in COLUMNS]
                table.append((coupling, *cells))
            except SpectraError as error:
                refusals[coupling] = _refusal(error)
        if len(refusals) == len(COUPLINGS):
            return Answer("Error of features", refusal=refusals["auto"])
        lines = (
            f"Expected |K - K^|/|K| (Frobenius) for {_ROWS} standard normal rows divided by "
            "sqrt(d), of length 1 for a kernel in u, by number of columns.",
            *(f"{coupling}: {text}" for coupling, text in refusals.items()),
        )
        return Answer("Error of features", lines, tuple(table))

    def _error(self, X: FloatArray, coupling: str, columns: int) -> float:
        features = SpectralFeatures(
            self._question.kernel,
            n_components=columns,
            coupling=coupling,
            mixed_signature="ignore",
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(features.fit(X).expected_error_)

    def _rows(self) -> FloatArray:
        d, kernel = self._question.dimension, self._question.kernel
        X = np.random.default_rng(0).normal(size=(_ROWS, d)) / np.sqrt(d)
        if isinstance(kernel, Kernel) and kernel.is_zonal:
            X /= np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X)
