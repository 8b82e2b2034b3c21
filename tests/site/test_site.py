"""The site is whole: each name has its page, each link leads somewhere, and nothing is fetched."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rf
import spectra

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = {"_build", "generated", "examples"}
PAGES = sorted(p for p in DOCS.rglob("*.md") if not MADE & set(p.parts))
# A mapping and an enumeration: the pages of Kernel and Verdict say what they hold.
WITHOUT_A_PAGE = {"catalogue", "Status"}


def test_every_public_name_is_in_the_reference() -> None:
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", text, flags=re.MULTILINE))
    public = set(spectra.__all__) | set(rf.__all__)
    assert public - listed == WITHOUT_A_PAGE
    assert listed - public == {"errors"}


def test_links_between_pages_lead_somewhere() -> None:
    missing = []
    for page in [*PAGES, ROOT / "README.md"]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        text = re.sub(r"`[^`\n]*`|^    .*$", "", text, flags=re.M)
        missing += [
            (page.name, target)
            for target in re.findall(r"\]\(([^()\s]+)\)", text)
            # What the build makes is there once it is built, which finds such links itself.
            if "://" not in target
            and target.partition("/")[0] not in MADE
            and not (page.parent / target.partition("#")[0]).exists()
        ]
    assert missing == []


def test_every_page_stands_in_a_list_of_pages() -> None:
    lists = re.findall(
        r"^```{toctree}\n(.*?)^```$",
        "\n".join(p.read_text(encoding="utf-8") for p in PAGES),
        flags=re.MULTILINE | re.DOTALL,
    )
    listed = {name for text in lists for name in re.findall(r"^([\w-]+)$", text, re.MULTILINE)}
    assert {p.stem for p in PAGES if p.parent == DOCS} == (listed - {"0"}) | {"index"}


def test_the_citation_is_of_this_version() -> None:
    text = (DOCS / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, flags=re.MULTILINE)[1] == spectra.__version__
    assert spectra.__version__ in (DOCS / "changelog.md").read_text(encoding="utf-8")


def test_the_site_begins_with_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = re.search(r':start-after: "(.*)"', (DOCS / "index.md").read_text(encoding="utf-8"))[1]
    end = re.search(r':end-before: "(.*)"', (DOCS / "index.md").read_text(encoding="utf-8"))[1]
    assert readme.count(f"{start}\n") == 1
    assert readme.count(f"{end}\n") == 1
    assert 0 <= readme.index(start) < readme.index(end)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason='pip install -e ".[docs]" brings what builds the site')
    pytest.importorskip("myst_parser", reason="as above")
    pytest.importorskip("numpydoc", reason="as above")
    pytest.importorskip("pydata_sphinx_theme", reason="as above")
    pytest.importorskip("sphinx_gallery", reason="as above")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 60
    fetched = re.compile(
        r"<(?:script|img|iframe)[^>]*\ssrc=\"(?:https?:)?//|<link[^>]*\shref=\"https?:"
    )
    assert [p.name for p in pages if fetched.search(p.read_text(encoding="utf-8"))] == []
    assert "SpectralFeatures" in (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    formula = (tmp_path / "generated" / "rf.SpectralFeatures.html").read_text(encoding="utf-8")
    assert "<math" in formula


#: Pages whose Python is a whole, from its imports on; that of the others is cut to what matters.
WHOLE = ("asymmetric", "groups", "kernels", "sampler", "signed", "spectra", "start", "two-sample")


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_the_python_of_a_page_runs_from_top_to_bottom(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), names)
