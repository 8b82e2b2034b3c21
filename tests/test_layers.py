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
    "spectra.compiled": 1,
    "spectra.numeric": 1,
    "spectra.files": 0,
    "spectra.steps": 0.1,
    "spectra.progress": 0.2,
    "spectra.console": 1,
    "spectra.special": 2,
    "spectra.harmonics": 3,
    "spectra.formula": 2,
    "spectra.table": 3,
    "spectra.kernel": 4,
    "spectra.quadrature": 4,
    "spectra.asymmetric": 5,
    "spectra.column_products": 5.05,
    "spectra.grouped": 5.1,
    "spectra.l1_kernel": 5.2,
    "spectra.cache": 5,
    "spectra.density": 5,
    "spectra.charts": 6,
    "spectra.families": 6,
    "spectra.singularity": 6,
    "spectra.definiteness": 6.5,
    "spectra.sphere": 7,
    "spectra.transform.smooth_pairs": 7.02,
    "spectra.transform.rays": 7.0,
    "spectra.transform.panel": 7.04,
    "spectra.transform.panelled": 7.05,
    "spectra.transform.on_balls": 7.1,
    "spectra.transform.half_lines": 7.15,
    "spectra.transform.callables": 7.2,
    "spectra.transform.summands": 6.9,
    "spectra.transform.lookup": 7.2,
    "spectra.transform.mellin_sums": 7.3,
    "spectra.transform.formulas": 7.4,
    "spectra.transform": 7.5,
    "spectra.measure": 8,
    "spectra.certify": 9.5,
    "spectra.verdict": 9,
    "spectra.tabulation": 10,
    "spectra.designs": 11,
    "spectra.asymmetric_measure": 11,
    "spectra.derivation": 12,
    "spectra.variograms": 12,
    "spectra.plot": 11,
    "spectra.plot_verdict": 12,
    "spectra.plot_design": 12,
    "spectra.plugins": 13,
    "spectra.cli": 13,
    "spectra.__main__": 14,
}
# rf has an order of its own, whose rooms are its modules and packages.
RF_LAYERS = {
    "rf.arrays": 0.4,
    "rf.callers": 0,
    "rf.chunk_sums": 0.1,
    "rf.commands": 10,
    "rf.compiled_sincos": 0,
    "rf.cosines": 0,
    "rf.dask_arrays": 0.2,
    "rf.datasets": 0,
    "rf.krein_sums": 0,
    "rf.directions": 0,
    "rf.lobed_projection": 0,
    "rf.monomials": 0,
    "rf.operators": 0,
    "rf.plane_waves": 0,
    "rf.probes": 0,
    "rf.radii": 0,
    "rf.rows": 0.5,
    "rf.lengths": 0.6,
    "rf.signs": 0,
    "rf.sincos": 0,
    "rf.spectrum": 0,
    "rf.threads": 0,
    "rf.walsh": 0,
    "rf.compiled_walsh": 0,
    "rf.common_keys": 1,
    "rf.designed_directions": 1,
    "rf.projection": 1,
    "rf.sobol": 1,
    "rf.backend": 2,
    "rf.couplings": 2,
    "rf.strata": 2,
    "rf.splits": 3,
    "rf.radial_means": 3,
    "rf.waves": 3,
    "rf.variance": 4,
    "rf.bounds": 5,
    "rf.frequencies": 5,
    "rf.weighted_variance": 5,
    "rf.axial": 6.6,
    "rf.fields": 6.7,
    "rf.ranking": 6,
    "rf.feature_map": 6,
    "rf.plans": 6.5,
    "rf.grouped": 6.6,
    "rf.l1_features": 6.6,
    "rf.plugins": 6,
    "rf.two_sample": 6,
    "rf.estimator": 7,
    "rf.portfolio": 7,
    "rf.features": 8,
    "rf.rivals": 8,
    "rf.experiments": 9,
    "rf.krein": 9,
    "rf.flipped": 9.5,
    "rf.krein_classifier": 9.5,
    "rf.tour": 10,
    "rf.explore": 10,
    "rf.cli": 11,
    "rf.__main__": 12,
}
FACADE = "spectra"
# Methods that open a room above when they are called: shift and tilt of a kernel that of asymmetric
# kernels, which are made of kernels, and certified() of a measure and of a table that of proofs.
EXCEPTIONS = {
    ("spectra.kernel", "spectra.asymmetric"),
    ("spectra.kernel", "spectra.grouped"),
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
