"""Change the arithmetic of the library at random and report which test notices.

``python -m tests.tools.mutations --count 20 --seed 0 [PACKAGE ...]`` draws mutations of the
modules below the given packages (``spectra/table``, ``rf/variance/variance.py``), applies each in
a copy of the tree, and runs the tests there until one fails: first the doctests of the module,
then the test files by their distance from it in the graph of imports.  A mutation in a place that
no test executes is printed as such and does not count.  Each line is final when it is printed.

By default the modules are the numeric core: all that match ``CORE`` and do not import numba.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("spectra", "rf")
CORE = re.compile(
    r"/(table|tabulation|measure|transform|special|harmonics|quadrature|variance|sampling"
    r"|couplings|directions|radii|frequencies|feature_map)"
)

OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.pattern)
TEXT = (ast.JoinedStr, ast.List, ast.ListComp, ast.Tuple)


# --- the graph of imports -----------------------------------------------------------------------


def modules() -> dict[str, Path]:
    """The files of the library and of the tests, by every name that they are imported by."""
    found = {}
    for path in sorted(p for top in (*LIBRARY, "tests") for p in (ROOT / top).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path
        if name.startswith("tests."):
            found.setdefault(path.stem, path)
    return found


def imports(path: Path, known: dict[str, Path]) -> set[Path]:
    """The files that a file imports by name."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inside & known.keys() or {node.module}
    return {known[name] for name in names & known.keys()} - {path}


def distances(graph: dict[Path, set[Path]], target: Path) -> dict[Path, int]:
    """Steps from every file that imports the target, directly or not, to the target."""
    found, last = {target: 0}, {target}
    while last:
        last = {path for path, used in graph.items() if path not in found and used & last}
        found |= dict.fromkeys(last, max(found.values()) + 1)
    return found


def core(path: Path) -> bool:
    name = path.relative_to(ROOT).as_posix()
    return bool(name.startswith(LIBRARY) and CORE.search(name)) and "numba" not in path.read_text()


# --- mutations ----------------------------------------------------------------------------------


def mutable(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one that compute: no text, annotations, decorators, or refusals."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            refuses = isinstance(child, ast.If) and isinstance(child.body[0], ast.Raise)
            skipped = refuses or isinstance(child, SKIPPED)
            if isinstance(child, ast.AST) and not skipped:
                yield from mutable(child)


def mutated(node: ast.AST, rng: random.Random) -> tuple[ast.AST, ast.AST] | None:
    """What is replaced, and by what; None for a node that has no arithmetic."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            sides = (left, right)
            if any(isinstance(s, TEXT) or isinstance(getattr(s, "value", 0), str) for s in sides):
                return None
            return node, ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.Compare(left, [op], right) if type(op) in COMPARISONS:
            return node, ast.Compare(left, [COMPARISONS[type(op)]()], right)
        case ast.UnaryOp(ast.USub(), operand):
            return node, operand
        case ast.Constant(int(value)) if not isinstance(value, bool):
            return node, ast.Constant(value + rng.choice([-1, 1]))
        case ast.Constant(float(value)) if value:
            return node, ast.Constant(1.01 * value)
        case ast.Call(ast.Name(name), args, keywords) if name in SWAPPED:
            return node, ast.Call(ast.Name(SWAPPED[name]), args, keywords)
        case ast.Call(ast.Attribute(owner, name), args, keywords) if name in SWAPPED:
            return node, ast.Call(ast.Attribute(owner, SWAPPED[name]), args, keywords)
        case ast.Slice(ast.Name() as bound) | ast.Slice(_, ast.Name() as bound):
            return bound, ast.BinOp(bound, ast.Add(), ast.Constant(rng.choice([-1, 1])))
    return None


def replaced(source: bytes, node: ast.AST, text: str) -> tuple[str, bytes]:
    """The text of a node, and the source with another text in its place."""
    lines = source.splitlines(keepends=True)
    first = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    last = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    before = " ".join(source[first:last].decode().split())
    return before, source[:first] + text.encode() + source[last:]


# --- runs ---------------------------------------------------------------------------------------


def run(tree: Path, arguments: list[str], limit: float) -> tuple[bool, str]:
    """Whether the tests pass in the copy, and the first that does not."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--dist", "load"]
    paths = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(
        [*command, *arguments], cwd=tree, env=os.environ | paths, start_new_session=True, **pipes
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        return False, f"the limit of {limit:g} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.M)
    return process.returncode in (0, 5), found[1] if found else output.strip()[-300:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    option = parser.add_argument
    option("packages", nargs="*", help="files or folders (default: numeric core)")
    option("--count", type=int, default=20)
    option("--seed", type=int, default=0)
    option("--limit", type=float, default=1800.0, help="seconds for one mutation")
    option("--nearest", action="store_true", help="only the nearest test files")
    option("--pytest", default="-x -q -n 2", help="options of pytest")
    asked = parser.parse_args()
    known, rng = modules(), random.Random(asked.seed)
    graph = {path: imports(path, known) for path in sorted(set(known.values()))}
    asked_for = [ROOT / package for package in asked.packages]
    places = [
        (path, *change)
        for path in graph
        if any(path.is_relative_to(p) for p in asked_for) or (not asked_for and core(path))
        for node in mutable(ast.parse(path.read_text()))
        if (change := mutated(node, rng))
    ]
    rng.shuffle(places)
    print(f"{len(places)} places in {len({place[0] for place in places})} modules", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        tree, mark, left = Path(folder, "tree"), Path(folder, "executed"), asked.count
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "_build"))
        for path, node, change in places:
            if not left:
                break
            name, after = path.relative_to(ROOT), ast.unparse(change)
            # The changed place leaves a mark when it is executed.
            text = f"(open({str(mark)!r}, 'w').close(), {after})[1]"
            before, source = replaced(path.read_bytes(), node, text)
            (tree / name).write_bytes(source)
            steps = distances(graph, path)
            tests = [t for t in steps if t.name.startswith("test_")]
            tests.sort(key=lambda test: (steps[test], test))
            if asked.nearest:
                tests = [t for t in tests if steps[t] == steps[tests[0]]]
            files = [str(name), *(str(t.relative_to(ROOT)) for t in tests)]
            rest = [] if asked.nearest else [*LIBRARY, "tests"]
            passed, said = run(tree, [*asked.pytest.split(), *files, *rest], asked.limit)
            executed = mark.exists()
            shutil.copy(path, tree / name)
            mark.unlink(missing_ok=True)
            if passed:
                said = "NOT CAUGHT" if executed else "not executed"
            elif "::" in said and not run(tree, ["-n", "0", said], asked.limit)[0]:
                said = f"fails without the mutation: {said}"
            else:
                said = f"caught by {said}"
            left -= executed
            print(f"{name}:{node.lineno}: {before} -> {after}: {said}", flush=True)


if __name__ == "__main__":
    main()
