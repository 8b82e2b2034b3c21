"""The page of ``spectra explore``, without a browser: what it answers, and what it refuses."""

from __future__ import annotations

import re
import shlex
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

pytest.importorskip("flask", reason='pip install -e ".[explore]" brings what serves the page')
pytest.importorskip("matplotlib", reason='pip install -e ".[plot]" brings what draws')

from rf.explore.answers.answer import ANSWERS, Answers
from rf.explore.panel import Panel
from rf.explore.question import Question
from rf.explore.server import HOST, TITLES, page_on
from rf.explore.workers import MOST, Superseded, Workers
from spectra import existence, radial
from spectra.cli.commands import main
from spectra.errors import ParameterError
from spectra.kernels.catalogue import catalogue

#: The verdict on it takes all the time that a step has, on whatever machine.
WITHOUT_END = "sqrt(1+" * 12 + "z" + ")" * 12


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers("10")
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(workers: Workers):
    server = page_on(0, workers)
    assert server.server_address[0] == HOST == "127.0.0.1"
    server.server_close()
    return server.app.test_client()


class Page(HTMLParser):
    """The elements of a page, and the names that labels and descriptions refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def asked(client, name: str, **form: str):
    return client.post(f"/panel/{name}", data=form)


@pytest.mark.parametrize(
    "query",
    [
        {"k": "exp(-a*z)*cos(b*z)", "d": "7", "p.a": "3/2", "p.b": "2"},
        {"k": "(1 - z**2/4)**2", "d": "3", "support": "2", "zmax": "1.5"},
        {"k": "Max(2 - z, 0)", "d": "2", "metric": "l1"},
    ],
)
def test_a_link_carries_the_whole_state(client, query: dict[str, str]) -> None:
    assert list(TITLES) == list(ANSWERS)
    page = Page(client.get("/", query_string=query).text)
    shown = {a["name"]: a["value"] for tag, a in page.elements if tag == "input" and a.get("name")}
    chosen = [a["value"] for tag, a in page.elements if tag == "option" and "selected" in a]
    shown |= dict.fromkeys(["metric"], chosen[0] if chosen else "")
    assert {name: value for name, value in shown.items() if value} == query


def test_what_the_python_lines_make_is_the_kernel_that_is_shown() -> None:
    for asking in (
        Question("matern(nu=5/2)", "2", parameters=(("length", "sqrt(2)"),)),
        Question("(1 - z**2/4)**2", "3", support="2"),
        Question("(exp(-a*z)).on([0])*(exp(-z**2)).on([1])", "3", parameters=(("a", "2"),)),
        Question("Max(t - z, 0)", "2", metric="l1", parameters=(("t", "2"),)),
    ):
        names: dict[str, object] = {}
        exec(dict(Answers(asking)("kernel").commands)["In Python"], names)
        assert names["kernel"] == asking.kernel


@pytest.mark.parametrize(
    "question",
    [
        Question("exp(-a*z)", "3", parameters=(("a", "3/2"),)),
        Question("(exp(-z)).on([0])*(exp(-a*z**2)).on([1, 2])", "3", parameters=(("a", "2"),)),
        Question("Max(2 - z, 0)", "2", metric="l1"),
    ],
    ids=lambda question: question.formula,
)
def test_the_shell_line_says_what_the_page_says(capsys, question: Question) -> None:
    answers = Answers(question)
    line = dict(answers("kernel").commands)["At a shell"].splitlines()[0]
    program, *arguments = shlex.split(line)
    assert (program, main(arguments)) == ("spectra", 0)
    printed = capsys.readouterr().out
    assert all(text in printed for text in answers("verdict").lines)


@pytest.mark.parametrize("dim", [1, 7])
def test_the_ladder_over_d_is_the_verdict_of_each_d(dim: int) -> None:
    formula = "(1 - z**2/4)**2"
    panel = Answers(Question(formula, str(dim), support="2"))("verdict")
    ladder = panel.tables[0]
    for mark, finite, definite in ladder.rows:
        verdict = existence(radial(formula, support=2), dim=int(mark.split()[0]))
        assert finite == verdict.status.value
        known = {"yes": (True,), "no": (False,), "not settled": (None, False, True)}[definite]
        assert verdict.positive_definite.answer in known
    assert f"{dim} (here)" in [row[0] for row in ladder.rows]


def test_a_density_of_infinite_mass_is_shown_with_the_reason() -> None:
    panel = Answers(Question("ntk", "3"))("density")
    assert panel.picture.startswith("<svg")
    assert panel.refusal.kind == "InfiniteMassError"
    assert "spectra design" in panel.refusal.message
    assert Answers(Question("ntk", "3"))("table").picture == ""


def test_a_refusal_marks_the_offending_character(client) -> None:
    for form, message, pointed in (
        ({"k": "exp(-q*z)"}, "'q' has no value", "exp(-q*z)\n     ^"),
        ({"k": "1 + exq(z)"}, "did you mean 'exp'", "1 + exq(z)\n    ^^^"),
        ({"k": "exp(-a*z)", "p.a": "2**"}, "not well formed", "2**\n   ^"),
        ({"k": ""}, "empty", ""),
        ({"k": "mattern"}, "mattern", ""),
        ({"k": "exp(-z)", "d": "0"}, "at least 1", ""),
        ({"k": "exp(-z)", "d": "2.5"}, "whole number", ""),
        ({"k": "exp(-z)", "support": "-1"}, "-1", ""),
        ({"k": "exp(-z)", "zmax": "-1"}, "-1", ""),
    ):
        answer = asked(client, "kernel", tab="refusals", **form).get_json()
        assert answer["refused"]
        html = answer["html"].replace("&#39;", "'")
        assert message in html
        shown = re.search(r"<pre[^>]*>(.*?)</pre>", html, flags=re.DOTALL)
        assert (shown[1] if shown else "") == pointed


def test_a_long_formula_is_refused_at_once(client) -> None:
    asked(client, "kernel", tab="long", k="exp(-z)")
    for formula in ("z" * 100_000, "(" * 100_000):
        answer = asked(client, "kernel", tab="long", k=formula).get_json()
        assert answer["refused"]
        assert "characters, more than" in answer["html"] or "no kernel" in answer["html"]
        assert len(answer["html"]) < 4000


def test_an_unknown_name_can_be_made_a_parameter_and_a_function_cannot(client) -> None:
    assert 'data-add="q"' in asked(client, "kernel", tab="p", k="exp(-q*z)").get_json()["html"]
    assert "data-add" not in asked(client, "kernel", tab="p", k="exq(z)").get_json()["html"]
    fields = asked(client, "kernel", tab="p", k="exp(-q*z)", **{"p.q": "2", "p.old": "1"})
    assert fields.get_json()["fields"] == [["q", "2"]]
    defaults = [[p.name, str(p.default)] for p in catalogue.entries["matern"].parameters]
    assert asked(client, "kernel", tab="p", k="matern").get_json()["fields"] == defaults


def test_markup_in_a_formula_is_text(client) -> None:
    page = client.get("/", query_string={"k": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page
    answer = asked(client, "kernel", tab="m", k="<b>z</b>").get_json()
    assert "<b>" not in answer["html"]


def test_another_site_can_neither_ask_nor_be_served(client) -> None:
    assert client.get("/", headers={"Host": "rebound.example"}).status_code == 403
    cross = client.post("/panel/kernel", data={"k": "z"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert cross.status_code == 403
    assert asked(client, "nothing").status_code == 404
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)


def test_every_field_has_a_label_and_every_picture_its_numbers(client) -> None:
    page = Page(client.get("/", query_string={"k": "exp(-a*z)", "p.a": "1"}).text)
    ids = {a["id"] for _, a in page.elements if a.get("id")}
    labelled = {a["for"] for tag, a in page.elements if tag == "label"}
    for tag, a in page.elements:
        if tag in ("input", "select"):
            assert a.get("id") in labelled or a.get("aria-label")
        for names in (a.get("aria-describedby"), a.get("aria-labelledby"), a.get("for")):
            assert set((names or "").split()) <= ids
        assert not (a.get("src") or a.get("href") or "").startswith(("http", "//"))
    roles = {a.get("role") for _, a in page.elements}
    assert {"alert", "status"} <= roles
    answers = Answers(Question("exp(-z)", "3"))
    for name in ("kernel", "verdict", "density"):
        panel = answers(name)
        assert panel.tables
        assert all(len(row) == len(grid.head) for grid in panel.tables for row in grid.rows)


def test_pictures_on_one_page_share_no_names_and_no_ink() -> None:
    answers = Answers(Question("exp(-z)", "3"))
    names: list[str] = []
    for name in ("kernel", "density"):
        picture = answers(name).picture
        own = re.findall(r'\bid="([^"]+)"', picture)
        assert all(text.startswith(f"{name}-") for text in own)
        assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', picture)) <= set(own)
        assert "#000000" not in picture
        assert "currentColor" in picture
        names += own
    assert len(names) == len(set(names))


def test_stale_questions_are_ended_and_other_tabs_do_not_wait(workers: Workers) -> None:
    slow = Question(WITHOUT_END, "3")
    outcome: list[object] = []

    def ask() -> None:
        try:
            outcome.append(workers.ask("first", slow, "verdict"))
        except Superseded as error:
            outcome.append(error)

    workers.ask("first", Question("exp(-z)"), "kernel")
    workers.ask("second", Question("exp(-z)"), "kernel")
    thread = threading.Thread(target=ask)
    thread.start()
    while workers._workers["first"].asked != slow or not workers._workers["first"].busy.locked():
        time.sleep(0.01)
    assert isinstance(workers.ask("second", Question("exp(-2*z)"), "kernel"), Panel)
    assert thread.is_alive()
    assert workers.ask("first", Question("exp(-3*z)"), "kernel").facts[0] == ("k(0)", "1")
    thread.join(timeout=60)
    assert [type(x) for x in outcome] == [Superseded]
    for tab in range(MOST + 2):
        assert workers.ask(f"tab {tab}", Question("z"), "kernel").facts
    assert len(workers._workers) == MOST


def test_the_time_of_a_step_is_limited_and_the_refusal_is_not_kept() -> None:
    hurried = Workers("0.2")
    server = page_on(0, hurried)
    try:
        client = server.app.test_client()
        answer = asked(client, "verdict", tab="t", k=WITHOUT_END, d="3").get_json()
        assert "0.2 s are allowed" in answer["html"]
        assert "--time-limit" in answer["html"]
        pages = client.application.view_functions["panel"].__self__
        assert not pages._known
    finally:
        server.server_close()
        hurried.close()


def test_a_port_that_is_taken_is_refused_in_words(workers: Workers, capsys) -> None:
    server = page_on(0, workers)
    try:
        with pytest.raises(ParameterError, match="choose another with --port"):
            page_on(server.server_port, workers)
    finally:
        server.server_close()
    assert main(["explore", "--port", "70000", "--no-browser"]) == 2
    assert main(["explore", "--time-limit", "-1", "--no-browser"]) == 2


def test_without_flask_the_command_names_what_to_install(monkeypatch, capsys) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "flask", None)
    assert main(["explore", "--no-browser"]) == 2
    assert "kernel-spectra[explore]" in capsys.readouterr().err


def test_every_group_of_columns_has_a_heading_of_its_own(client) -> None:
    form = {"tab": "groups", "k": "(exp(-z)).on([0])*(exp(-z**2)).on([1, 2])", "d": "3"}
    answer = asked(client, "kernel", **form).get_json()
    assert not answer["refused"]
    page = Page(answer["html"])
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h3") == tags.count("svg") == 2
    assert re.findall(r"<h3>(.*?)</h3>", answer["html"]) == [
        "exp(-z) of the columns [0]",
        "exp(-z**2) of the columns [1, 2]",
    ]
