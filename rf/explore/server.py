"""The local web server of the page, which only browsers on the same computer can reach."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import nullcontext
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rf.explore.answers import answers
from rf.explore.question import Question
from spectra import __version__
from spectra.base.limits import limit_from, time_limit
from spectra.errors import MissingExtraError, ParameterError
from spectra.kernels.catalogue import catalogue

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.serving import BaseWSGIServer

__all__ = ["make_page_server", "serve"]

HOST = "127.0.0.1"
# Content-Security-Policy: the page loads nothing from other sites, and no site can embed it.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
EXAMPLES = (
    {"k": "exp(-z**2/2) - exp(-z**2/200)", "d": "16"},
    {"k": "exp(-a*z)*cos(2*z)", "d": "3", "parameters": "a=1"},
    {"k": "(1 - z**2/4)**2", "d": "3", "support": "2"},
    {"k": "spherical", "d": "3"},
    {"k": "ntk", "d": "16"},
    {"k": "(exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2])", "d": "3"},
    {"k": "Max(2 - z, 0)", "d": "2", "metric": "l1"},
)


def _application(limit: str | None) -> Flask:
    try:
        from flask import Flask, abort, render_template, request
    except ImportError as error:
        raise MissingExtraError(
            "The page needs Flask, which is not installed: pip install 'kernel-spectra[explore]'."
        ) from error
    time_per_page = None if limit is None else limit_from(limit, source="--time-limit")
    app = Flask("rf.explore")

    def page() -> str:
        question = Question.from_form(request.args)
        with nullcontext() if time_per_page is None else time_limit(time_per_page):
            sections = answers(question) if question.k else []
        return render_template(
            "page.html",
            asked=question,
            answers=sections,
            names=list(catalogue),
            examples=[(example["k"], urlencode(example)) for example in EXAMPLES],
            version=__version__,
        )

    def refuse_other_hosts() -> None:
        # DNS rebinding: another site may resolve its host name to this address.
        if request.host.partition(":")[0] not in (HOST, "localhost"):
            abort(403)

    def set_policy(response):  # type: ignore[no-untyped-def]
        response.headers["Content-Security-Policy"] = _POLICY
        return response

    app.add_url_rule("/", "page", page)
    app.before_request(refuse_other_hosts)
    app.after_request(set_policy)
    return app


def make_page_server(port: int, limit: str | None = None) -> BaseWSGIServer:
    """Create a server of the page on 127.0.0.1 that handles one request at a time.

    Parameters
    ----------
    port : int
        0 for any free port, which is then the ``server_port`` of the result.
    limit : str, optional
        Time limit for computing one page, in the format of --time-limit.

    Raises
    ------
    MissingExtraError
        If Flask is not installed.
    ParameterError
        If the port is not free or not a port number.
    """
    if not 0 <= port < 2**16:
        raise ParameterError(f"There is no port {port}: choose one from 1 to 65535, or 0 for any.")
    app = _application(limit)
    from werkzeug.serving import make_server

    try:
        return make_server(HOST, port, app)
    except (OSError, SystemExit) as error:
        raise ParameterError(
            f"The page cannot be served on port {port} ({error}): choose another with --port, or 0 "
            "for any free port."
        ) from error


def serve(*, port: int, limit: str | None, open_browser: bool) -> int:
    """Serve the page until Ctrl-C, for the command ``spectra explore``.

    Parameters
    ----------
    port : int
        0 for any free port.
    limit : str or None
        Time limit for computing one page, in the format of --time-limit.
    open_browser : bool
        Whether to open a browser.
    """
    server = make_page_server(port, limit)
    address = f"http://{HOST}:{server.server_port}/"
    print(f"{address} shows the page; press Ctrl-C to stop", file=sys.stderr, flush=True)
    if open_browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0
