"""The page of ``spectra explore`` in a browser: typing, moving, errors, two tabs, the keyboard."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("flask", reason='pip install -e ".[explore]" brings what serves the page')
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="pip install playwright brings what drives a browser"
)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
if BROWSER is None:
    pytest.skip("no chromium: apt-get install chromium brings it", allow_module_level=True)

server = pytest.importorskip("rf.explore.server")
workers = pytest.importorskip("rf.explore.workers")

pytestmark = [pytest.mark.slow]

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Milliseconds: machines that do other work as well are slow.
PATIENCE = 60_000


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    processes = workers.Workers("20")
    served = server.page_on(0, processes)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/"
    served.shutdown()
    served.server_close()
    processes.close()


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory):
    sync_api.expect.set_options(timeout=PATIENCE)
    with sync_api.sync_playwright() as driver:
        made = driver.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")), executable_path=BROWSER, args=list(FLAGS)
        )
        yield made
        made.close()


@pytest.fixture
def opened(context, address: str) -> Iterator[Callable]:
    """A tab with a state; what a page complains of, and what it asks elsewhere, fails the test."""
    tabs, faults = [], []

    def one(query: str = "", width: int = 1280):
        tab = context.new_page()
        tab.set_viewport_size({"width": width, "height": 900})
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda said: faults.append(said.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on(
            "request",
            lambda asked: (
                None if asked.url.startswith((address, "data:")) else faults.append(asked.url)
            ),
        )
        tab.goto(address + query)
        tabs.append(tab)
        return tab

    yield one
    for tab in tabs:
        tab.close()
    assert faults == []


def panel(tab, name: str):
    return tab.locator(f"[data-panel={name}]")


def expect(locator):
    return sync_api.expect(locator)


def state(tab) -> dict[str, list[str]]:
    return parse_qs(urlsplit(tab.url).query)


def test_typing_a_formula_shows_everything_of_it(opened) -> None:
    tab = opened("?k=exp(-z)&d=2")
    expect(panel(tab, "verdict")).to_contain_text("exp(-z): its spectral measure has finite mass")
    tab.get_by_label("Formula in z or u").fill("exp(-z**2)")
    expect(panel(tab, "verdict")).to_contain_text("exp(-z**2): its spectral measure")
    expect(tab.get_by_role("status")).to_have_text("All answers are shown.")
    for name in ("kernel", "density", "table", "columns"):
        expect(panel(tab, name).locator("svg")).to_be_visible()
        assert panel(tab, name).locator("table").count() >= 1
    assert state(tab)["k"] == ["exp(-z**2)"]
    again = opened("?" + urlsplit(tab.url).query)
    assert again.get_by_label("Formula in z or u").input_value() == "exp(-z**2)"


def test_a_bad_formula_is_told_under_its_character_and_mended_by_keyboard(opened) -> None:
    tab = opened("?k=exp(-z)&d=1")
    expect(panel(tab, "kernel").locator("svg")).to_be_visible()
    formula = tab.get_by_label("Formula in z or u")
    formula.fill("exp(-z*lam)")
    alert = tab.get_by_role("alert")
    expect(alert).to_contain_text("Character 8: 'lam' has no value")
    assert alert.locator("pre").text_content() == "exp(-z*lam)\n       ^^^"
    assert formula.get_attribute("aria-invalid") == "true"
    tab.get_by_role("button", name="Make lam a parameter").focus()
    tab.keyboard.press("Enter")
    expect(alert).to_be_empty()
    expect(panel(tab, "verdict")).to_contain_text("exp(-z): its spectral measure")
    assert tab.get_by_label("lam", exact=True).input_value() == "1"
    assert state(tab)["p.lam"] == ["1"]
    formula.fill("exp(-z)")
    expect(tab.get_by_label("lam", exact=True)).to_have_count(0)


def test_two_tabs_work_at_once(opened) -> None:
    slow = opened("?k=exp(-z)*cos(2*z)/(1%2Bz)&d=3")
    quick = opened("?k=exp(-z**2)&d=1")
    expect(panel(quick, "verdict")).to_contain_text("exp(-z**2): its spectral measure")
    for d in ("2", "4"):
        quick.get_by_label("Dimension d").fill(d)
        expect(panel(quick, "verdict")).to_contain_text(f"finite mass in d = {d}")
    expect(panel(slow, "verdict")).to_contain_text("exp(-z)*cos(2*z)/(1+z): its spectral measure")
    expect(quick.get_by_role("status")).to_have_text("All answers are shown.")
    assert "exp(-z**2)" in panel(quick, "verdict").inner_text()
    assert "exp(-z**2)" not in panel(slow, "verdict").inner_text()
