"""The page of ``spectra explore``: what it answers, and what it refuses."""

from __future__ import annotations

import html
import re
import sys
from math import tanh
from typing import Any
from urllib.parse import parse_qsl

import pytest

pytest.importorskip("flask", reason='pip install -e ".[explore]" brings what serves the page')
pytest.importorskip("matplotlib", reason='pip install -e ".[plot]" brings what draws')

import rf.explore.server as server
from rf import SpectralFeatures
from rf.explore import answers as page
from rf.explore.answers import answers
from rf.explore.question import Question
from spectra import existence, radial
from spectra.cli.commands import main
from spectra.errors import ParameterError, TimeLimitError
from spectra.verdict import Verdict


@pytest.fixture(scope="module")
def client() -> Any:
    served = server.make_page_server(0, "10")
    assert served.server_address[0] == "127.0.0.1"
    served.server_close()
    return served.app.test_client()


@pytest.fixture(autouse=True)
def few_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "N_COMPONENTS", (16,))


def test_the_answers_are_those_of_the_library() -> None:
    text = "exp(-z**2/2) - exp(-z**2/8)/2"
    question = Question(text, "3")
    verdict, masses, density, errors = answers(question)
    expected = existence(radial(text), dim=3)
    assert verdict.lines[1 : 1 + len(expected.reasons)] == expected.reasons
    measure = expected.measure
    assert dict(masses.table)["positive part"] == str(measure.positive_mass)
    assert dict(masses.table)["both"] == str(measure.mass)
    assert density.picture.startswith("data:image/svg+xml")
    assert errors.table[0] == ("coupling", "16")
    assert [row[0] for row in errors.table[1:]] == ["iid", "orthogonal", "auto"]
    assert 0.0 < float(errors.table[3][1]) <= float(errors.table[1][1])
    features = SpectralFeatures(
        text, n_components=16, coupling="iid", mixed_signature="ignore", random_state=0
    )
    error = features.fit(page._Answers(question)._rows()).expected_error_
    assert errors.table[1] == ("iid", f"{error:.4f}")


def test_groups_and_the_l1_distance_have_a_verdict_masses_and_errors() -> None:
    product = "(exp(-z**2/2)).on([0])*(exp(-z)).on([1]) - 0.5*(exp(-z)).on([1])"
    for question, plus, minus, couplings in (
        (Question(product, "2"), 1.0, 0.5, 3),
        (Question("exp(-z)", "2", metric="l1"), 1.0, 0.0, 3),
    ):
        verdict, masses, density, errors = answers(question)
        assert "finite mass" in verdict.lines[0]
        assert float(dict(masses.table)["positive part"]) == pytest.approx(plus)
        assert float(dict(masses.table)["negative part"]) == pytest.approx(minus)
        assert not density.picture
        assert len(errors.table) == 1 + couplings


@pytest.mark.slow
def test_a_kernel_in_u_is_answered_on_the_sphere() -> None:
    verdict, masses, density, errors = answers(Question("tanh(u)", "3"))
    assert verdict.lines[0].startswith("tanh(u): has a decomposition on the unit sphere of R^3")
    assert verdict.lines[-1].startswith("Positive definite in d = 3: no")
    parts = {name: float(mass) for name, mass in masses.table[1:]}
    assert parts["positive part"] - parts["negative part"] == pytest.approx(tanh(1.0), abs=1e-5)
    assert not density.picture
    assert len(errors.table) >= 2


@pytest.mark.parametrize(
    ("text", "rest"), [("u**3", "at most 0"), ("sqrt(u**2 + 1/100)", "no known bound")]
)
def test_the_rest_of_a_series_is_as_the_library_bounds_it(text: str, rest: str) -> None:
    assert rest in page._Answers(Question(text, "3")).masses().lines[0]


def test_the_verdict_survives_a_time_out_of_the_masses(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(_: object) -> None:
        raise TimeLimitError("gave up after 10 s")

    monkeypatch.setattr(Verdict, "measure", property(slow))
    verdict, masses, density, _ = answers(Question("exp(-z**2) - z**2*exp(-z)/100", "3"))
    assert "finite mass in d = 3" in verdict.lines[0]
    assert "Positive definite in d = 3: not settled. masses: not computed" in verdict.lines[-1]
    assert masses.refusal == "gave up after 10 s"
    assert density.picture


def test_what_cannot_be_read_is_marked(client: Any) -> None:
    for form, message, pointed in (
        ({"k": "exp(-q*z)"}, "'q' has no value", "exp(-q*z)\n     ^"),
        ({"k": "1 + exq(z)"}, "did you mean 'exp'", "1 + exq(z)\n    ^^^"),
        ({"k": "exp(-a*z)", "parameters": "a"}, "has no value", ""),
        ({"k": "mattern"}, "mattern", ""),
        ({"k": "exp(-z)", "d": "0"}, "at least 1", ""),
        ({"k": "exp(-z)", "d": "2.5"}, "whole number", ""),
        ({"k": "exp(-z)", "support": "-1"}, "-1", ""),
        ({"k": "exp(-z)", "metric": "l7"}, "l7", ""),
        ({"k": "z" * 100_000}, "no kernel", ""),
    ):
        shown = html.unescape(client.get("/", query_string=form).text)
        refusal = re.search(r'<pre class="refusal"[^>]*>(.*?)</pre>', shown, flags=re.DOTALL)
        assert message in refusal[1]
        assert pointed in refusal[1]
        assert len(refusal[1]) < 4000


def test_a_link_carries_the_whole_form_and_markup_is_text(client: Any) -> None:
    for example in server.EXAMPLES:
        assert Question.from_form(example).kernel is not None
    query = {"k": "exp(-a*z)", "d": "0", "parameters": "a=2", "support": "7", "metric": "l1"}
    shown = client.get("/", query_string=query).text
    fields = dict(re.findall(r'name="(\w+)"[^>]*?value="([^"]*)"', shown))
    assert {**fields, "metric": "l1"}.items() >= query.items()
    assert '<option value="l1" selected>' in shown
    links = re.findall(r'href="\?([^"]+)"', shown)
    assert [dict(parse_qsl(html.unescape(link))) for link in links] == list(server.EXAMPLES)
    assert "<script" not in client.get("/", query_string={"k": "<script>1</script>"}).text


def test_other_sites_are_kept_out(client: Any) -> None:
    assert client.get("/", headers={"Host": "rebound.example"}).status_code == 403
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:|\*", policy)


def test_the_command_explains_ports_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = server.make_page_server(0)
    try:
        with pytest.raises(ParameterError, match="choose another with --port"):
            server.make_page_server(taken.server_port)
    finally:
        taken.server_close()
    assert main(["explore", "--port", "70000", "--no-browser"]) == 2
    assert main(["explore", "--time-limit", "-1", "--no-browser"]) == 2
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "flask", None)
    assert main(["explore", "--no-browser"]) == 2
    assert "kernel-spectra[explore]" in capsys.readouterr().err
