"""Imports run one way, folders are small, and a leaf uses only what packages export."""

from __future__ import annotations

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import rf
import spectra
from tests.tools.files import ROOT, summaries

# From bottom to top; what stands in one line does not import one another.
LAYERS = {
    "spectra": """errors; base; formula; kernels; singularities table; definiteness; density;
        measure; verdict; derivation; designs spectral_input; variograms plugins; cli; __main__""",
    "rf": """inputs; feature_maps; sampling; variance; schemes; dot_product; features;
        krein fields two_sample plugins; kriging papers; cli explore; __main__""",
}
LEAVES = {
    *(f"spectra.{n}" for n in ("variograms", "plugins", "cli")),
    *(f"rf.{n}" for n in ("kriging", "papers", "explore", "plugins", "cli")),
}
RANK = {
    f"{package}.{name}": place
    for package, text in LAYERS.items()
    for place, names in enumerate(text.split(";"))
    for name in names.split()
}
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("spectra", "rf")
    for path in sorted((ROOT / package).rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def _exports(name: str) -> set[str]:
    for node in TREES[name].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return {element.value for element in getattr(node.value, "elts", ())}
    return set()


EXPORTS = {name: _exports(name) for name in FILES}


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _imports(name: str) -> set[str]:
    """The modules of both packages that a file imports: anywhere in it, for types too."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_file = inner in FILES and alias.name not in EXPORTS.get(node.module, ())
                found.add(inner if is_file else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module in FILES and module != name}


IMPORTS = {name: _imports(name) for name in FILES}
ARROWS = [
    (name, other)
    for name, imported in IMPORTS.items()
    for other in sorted(imported)
    if name not in LAYERS and other not in LAYERS and _package(name) != _package(other)
]


def test_no_files_import_one_another():
    assert len(list(TopologicalSorter(IMPORTS).static_order())) == len(FILES)


def test_packages_import_only_from_lower_layers():
    for name, other in ARROWS:
        if other.startswith("rf."):
            assert name.startswith("rf."), f"{name} imports {other}"
        if name.partition(".")[0] == other.partition(".")[0]:
            assert RANK[_package(other)] < RANK[_package(name)], f"{name} imports {other}"


def test_leaves_use_only_what_packages_export_and_only_leaves_import_them():
    shared = {"spectra.base", "spectra.errors"}
    for name, other in ARROWS:
        own, its = _package(name), _package(other)
        if its in LEAVES:
            assert own in LEAVES | {"spectra.__main__", "rf.__main__"}, f"{name} imports {other}"
        elif own in LEAVES and its not in shared:
            is_face = FILES[other].name == "__init__.py"
            assert is_face or other == "rf.two_sample", f"{name} imports {other}"


def test_the_table_and_what_draws_from_it_need_no_formulas():
    for name, other in ARROWS:
        if _package(name) == "spectra.table":
            assert _package(other) in {"spectra.errors", "spectra.base"}, f"{name} imports {other}"


def test_folders_files_and_functions_can_be_taken_in():
    for folder in {path.parent for path in FILES.values()}:
        assert len(list(folder.glob("*.py"))) <= 16, folder
    for name, path in FILES.items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path
        for node in ast.walk(TREES[name]):
            if isinstance(node, ast.FunctionDef):
                said = ast.get_docstring(node, clean=False)
                lines = node.end_lineno - node.lineno + 1 - (said.count("\n") + 1 if said else 0)
                assert lines <= 60, f"{node.name} in {path} has {lines} lines"


def test_every_file_says_in_a_line_what_it_is():
    for name, line in summaries():
        assert line.endswith((".", ":", "?")), f"the docstring of {name} begins with {line!r}"


def test_the_map_names_every_package_on_one_screen():
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 100
    for name, path in FILES.items():
        if path.name == "__init__.py" and name not in LAYERS:
            inner = name.partition(".")[2].replace(".", "/")
            assert f"`{inner}`" in page or f"{path.parent.name}" in page, name


NO_EXAMPLE = {
    "DroppedPartWarning",
    "LengthScaleWarning",
    "SignatureWarning",
    "UselessFeaturesWarning",
}


def test_public_names_are_documented_and_not_hidden_by_modules():
    for package in (spectra, rf):
        for name in package.__all__:
            value = getattr(package, name)
            assert not isinstance(value, type(sys)), f"{name} is a module"
            if package is rf:
                assert value.__doc__, f"rf.{name} says nothing"
                assert name in NO_EXAMPLE or ">>>" in value.__doc__, f"rf.{name} has no example"


def test_the_root_of_both_packages_holds_no_loose_files():
    allowed = {"__init__", "__main__", "errors", "two_sample"}
    for package in (spectra, rf):
        loose = {path.stem for path in Path(package.__file__).parent.glob("*.py")}
        assert loose <= allowed, loose - allowed
