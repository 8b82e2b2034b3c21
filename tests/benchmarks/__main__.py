"""Run the benchmarks: ``python -m tests.benchmarks [room ...] [--write]``.

``--write`` puts the results into docs/benchmarks.md, each run in the place of the one before.
"""

from __future__ import annotations

import argparse
import importlib
import platform
from pathlib import Path

import numpy
import scipy

from .timing import Table, say

ROOMS = ("tables", "masses", "routes", "whole", "transform", "scale", "signs", "fields")
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    """Run what is named, all by default."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []], metavar="room", help=str(ROOMS))
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    for room in given.rooms or ROOMS:
        say(room)
        tables = importlib.import_module(f".{room}", __package__).run()
        page = _placed(page, room, tables)
        for table in tables:
            print(table)
        if given.write:
            PAGE.write_text(page, encoding="utf-8")


def _placed(page: str, room: str, tables: list[Table]) -> str:
    """The page with these results between the marks of their room."""
    start, end = f"<!-- {room} -->\n", f"<!-- end of {room} -->\n"
    machine = (
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy "
        f"{scipy.__version__}, {platform.machine()}; `python -m tests.benchmarks {room} --write`.\n"
    )
    text = start + "\n" + machine + "\n" + "\n".join(map(str, tables)) + "\n" + end
    if start not in page:
        return page.rstrip() + "\n\n" + text
    return page[: page.index(start)] + text + page[page.index(end) + len(end) :]


if __name__ == "__main__":
    main()
