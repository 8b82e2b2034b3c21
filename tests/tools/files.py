"""List every file with the first line of its docstring: ``python -m tests.tools.files``."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def summaries() -> Iterator[tuple[str, str]]:
    """Paths and first lines, room by room; a line is empty where a file does not say what it is."""
    for package in ("spectra", "rf"):
        for path in sorted((ROOT / package).rglob("*.py"), key=lambda p: (p.parent, p.name)):
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            yield path.relative_to(ROOT).as_posix(), text.partition("\n")[0]


if __name__ == "__main__":
    for name, line in summaries():
        print(f"{name:48}  {line}")
