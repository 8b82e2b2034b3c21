"""Imports run one way: the table of layers is the map, and this test holds it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rf
import spectra
from tests.files import summaries

LAYERS = {
    "spectra.errors": 0,
    "spectra.base.compiled": 1,
    "spectra.base.numbers": 1,
    "spectra.base.files": 0,
    "spectra.base.limits.time_limit": 0.1,
    "spectra.base.limits.progress": 0.2,
    "spectra.base.console": 1,
    "spectra.base.special.bessel": 2,
    "spectra.base.special.harmonics": 3,
    "spectra.formula": 2,
    "spectra.table": 3,
    "spectra.kernels.kernel": 4,
    "spectra.base.enclosures": 4,
    "spectra.kernels.asymmetric": 5,
    "spectra.kernels.column_products": 5.05,
    "spectra.kernels.grouped": 5.1,
    "spectra.kernels.l1_kernel": 5.2,
    "spectra.derivation.cache": 5,
    "spectra.density.spectral_density": 5,
    "spectra.density.charts": 6,
    "spectra.kernels.catalogue": 6,
    "spectra.singularities": 6,
    "spectra.singularities.definiteness": 6.5,
    "spectra.verdict.regions.sphere_coefficients": 7,
    "spectra.density.closed_pairs": 7.02,
    "spectra.density.half_line.sums": 7.0,
    "spectra.density.panels.panel": 7.04,
    "spectra.density.panels.panelled_density": 7.05,
    "spectra.density.ball": 7.1,
    "spectra.density.half_line": 7.15,
    "spectra.density.callables": 7.2,
    "spectra.density.summands": 6.9,
    "spectra.density.lookup": 7.2,
    "spectra.density.gamma_sums": 7.3,
    "spectra.symbolic": 7.4,
    "spectra.density": 7.5,
    "spectra.measure": 8,
    "spectra.certify": 9.5,
    "spectra.verdict": 9,
    "spectra.measure.tabulation": 10,
    "spectra.designs": 11,
    "spectra.derivation.asymmetric_measure": 11,
    "spectra.derivation.kernel_to_table": 12,
    "spectra.variograms": 12,
    "spectra.cli.plot_kernel": 11,
    "spectra.cli.plot_verdict": 12,
    "spectra.cli.plot_design": 12,
    "spectra.plugins": 13,
    "spectra.cli.commands": 13,
    "spectra.__main__": 14,
}
# rf has an order of its own, whose rooms are its modules and packages.
RF_LAYERS = {
    "rf.inputs.arrays": 0.4,
    "rf.inputs.callers": 0,
    "rf.krein.chunks": 0.1,
    "rf.cli.commands": 10,
    "rf.feature_maps.compiled_sincos": 0,
    "rf.sampling.cosines": 0,
    "rf.inputs.dask_arrays": 0.2,
    "rf.papers.datasets": 0,
    "rf.krein.sums": 0,
    "rf.sampling.directions": 0,
    "rf.variance.radii.wave_projection": 0,
    "rf.feature_maps.monomials": 0,
    "rf.features.operators": 0,
    "rf.variance.radii.plane_waves": 0,
    "rf.variance.differences": 0,
    "rf.sampling.radii": 0,
    "rf.inputs.rows": 0.5,
    "rf.inputs.lengths": 0.6,
    "rf.krein.signs": 0,
    "rf.feature_maps.sincos": 0,
    "rf.inputs.tables": 0,
    "rf.feature_maps.threads": 0,
    "rf.feature_maps.walsh": 0,
    "rf.feature_maps.compiled_walsh": 0,
    "rf.variance.radii.shared_quantiles": 1,
    "rf.sampling.designed_directions": 1,
    "rf.variance.radii.projection": 1,
    "rf.sampling.sobol": 1,
    "rf.feature_maps.backend": 2,
    "rf.sampling.couplings": 2,
    "rf.variance.radii.strata": 2,
    "rf.variance.splits": 3,
    "rf.variance.radii.radial_means": 3,
    "rf.feature_maps.fourier_features": 3,
    "rf.variance.variance": 4,
    "rf.variance.bounds": 5,
    "rf.sampling.frequencies": 5,
    "rf.variance.weighted_variance": 5,
    "rf.schemes.complex": 6.6,
    "rf.fields": 6.7,
    "rf.variance.coupling_score": 6,
    "rf.feature_maps.feature_map": 6,
    "rf.schemes.scheme": 6.5,
    "rf.schemes.grouped": 6.6,
    "rf.schemes.l1": 6.6,
    "rf.plugins": 6,
    "rf.two_sample": 6,
    "rf.features.base": 7,
    "rf.dot_product": 7,
    "rf.features.spectral_features": 8,
    "rf.papers.baselines": 8,
    "rf.papers.experiments": 9,
    "rf.krein.ridge": 9,
    "rf.krein.flipped": 9.5,
    "rf.krein.classifier": 9.5,
    "rf.papers.tour": 10,
    "rf.explore": 10,
    "rf.cli.parser": 11,
    "rf.__main__": 12,
}
FACADE = "spectra"
# Methods that open a room above when they are called: shift and tilt of a kernel that of asymmetric
# kernels, which are made of kernels, and certified() of a measure and of a table that of proofs.
EXCEPTIONS = {
    ("spectra.kernels.kernel", "spectra.kernels.asymmetric"),
    ("spectra.kernels.kernel", "spectra.kernels.grouped"),
    ("spectra.measure", "spectra.certify"),
    ("spectra.table", "spectra.certify"),
}


def modules(package):
    root = Path(package.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports_at_run_time(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def room(module):
    """The layer entry that a module belongs to: itself or the package it lies in."""
    while module and module not in LAYERS:
        module = module.rpartition(".")[0]
    return module


@pytest.mark.parametrize(
    ("name", "path"), [pytest.param(n, p, id=n) for n, p in modules(spectra) if n != FACADE]
)
def test_a_module_imports_only_from_the_layers_below(name, path):
    own = room(name)
    assert own, f"{name} has no layer: add it to LAYERS and to docs/map.md"
    for imported in imports_at_run_time(path):
        if not imported.startswith("spectra."):
            assert imported.partition(".")[0] != "rf", f"{name} imports {imported}"
            continue
        other = room(imported)
        if (own, other) in EXCEPTIONS:
            continue
        assert other == own or LAYERS[other] < LAYERS[own], f"{name} imports {imported}"


@pytest.mark.parametrize(
    ("name", "path"), [pytest.param(n, p, id=n) for n, p in modules(rf) if n != "rf"]
)
def test_a_module_of_rf_imports_only_from_the_layers_below(name, path):
    own = ".".join(name.split(".")[:2])
    assert own in RF_LAYERS, f"{name} has no layer: add {own} to RF_LAYERS and to docs/map.md"
    for imported in imports_at_run_time(path):
        other = ".".join(imported.split(".")[:2])
        if imported.startswith("rf.") and other != own:
            assert RF_LAYERS[other] < RF_LAYERS[own], f"{name} imports {imported}"


def test_the_map_names_every_room():
    page = (Path(__file__).parent.parent / "docs" / "map.md").read_text(encoding="utf-8")
    for name in LAYERS:
        room_name = name.removeprefix("spectra.").replace(".", "/")
        named = f"`{room_name}`" in page or f"`{room_name}.py`" in page or "__" in room_name
        assert named, f"docs/map.md does not name the room {name}"
    for name in RF_LAYERS:
        short = name.removeprefix("rf.")
        assert f"`{short}.py`" in page or f"`{short}/`" in page, f"docs/map.md does not name {name}"


def test_every_file_says_in_a_line_what_it_is():
    for name, line in summaries():
        assert line.endswith((".", ":", "?")), f"the docstring of {name} begins with {line!r}"


def test_a_file_and_a_function_can_be_taken_in():
    """At most 450 lines, and 60 beside its docstring."""
    for _, path in [*modules(spectra), *modules(rf)]:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 450, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                said = ast.get_docstring(node, clean=False)
                lines = node.end_lineno - node.lineno + 1 - (said.count("\n") + 1 if said else 0)
                assert lines <= 60, f"{node.name} in {path} has {lines} lines"


def test_the_map_is_one_page():
    page = (Path(__file__).parent.parent / "docs" / "map.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 120


@pytest.mark.parametrize(
    "statement", ["from rf import KreinRidge, SpectralFeatures", "import spectra.table"]
)
def test_features_and_tables_are_loaded_without_plots_compilers_or_symbols(statement):
    code = (
        f"{statement}\nimport sys\n"
        "heavy = {'sympy', 'matplotlib', 'numba', 'flint'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True)


def test_no_public_name_is_hidden_by_a_module():
    for name in spectra.__all__:
        value = getattr(spectra, name)
        assert not isinstance(value, type(sys)), f"spectra.{name} is a module"


RF_NAMES = {
    "features": {"SpectralFeatures", "RFF", "ORF", "GRFF", "GORF", "AsKRFF"},
    "learners": {"KreinRidge", "KreinRidgeClassifier", "FlippedFeatures"},
    "fields": {"GaussianField"},
    "tests": {"two_sample_test"},
    "frequencies": {"Frequencies", "draw_frequencies"},
    "data and machine": {"load_dataset", "show_config"},
    "warnings": {
        "DroppedPartWarning",
        "LengthScaleWarning",
        "SignatureWarning",
        "UselessFeaturesWarning",
    },
}


def test_the_public_names_of_rf_are_what_a_user_types():
    assert set(rf.__all__) == set().union(*RF_NAMES.values())
    for name in rf.__all__:
        value = getattr(rf, name)
        assert not isinstance(value, type(sys)), f"rf.{name} is a module"
        assert value.__doc__, f"rf.{name} says nothing"
        if name not in RF_NAMES["warnings"]:
            assert ">>>" in value.__doc__, f"rf.{name} has no example"


ROOMS = [
    (f"{package.__name__}.{'.'.join(init.parent.relative_to(root).parts)}", init)
    for package in (spectra, rf)
    for root in [Path(package.__file__).parent]
    for init in sorted(root.rglob("*/__init__.py"))
]


@pytest.mark.parametrize(("name", "init"), ROOMS, ids=[name for name, _ in ROOMS])
def test_a_room_says_what_each_of_its_files_is_for(name, init):
    said = ast.get_docstring(ast.parse(init.read_text())) or ""
    files = {path.stem for path in init.parent.glob("*.py")} - {"__init__"}
    assert not sorted(f for f in files if f"``{f}``" not in said)
