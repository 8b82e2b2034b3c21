"""The page itself, for browsers on this machine: one form, and a request for each panel."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections import OrderedDict
from typing import TYPE_CHECKING, final
from urllib.parse import urlencode

from rf.explore.panel import Panel
from rf.explore.question import Question
from rf.explore.workers import Superseded, Workers
from spectra import __version__
from spectra.errors import MissingExtraError, ParameterError
from spectra.kernels.catalogue import catalogue

if TYPE_CHECKING:
    from flask import Flask
    from flask.typing import ResponseReturnValue
    from werkzeug.serving import BaseWSGIServer

__all__ = ["page_on", "serve"]

HOST = "127.0.0.1"
#: Panels that are kept (chosen: some 50 kB each), so that going back is immediate.
_KEPT = 200
#: A formula of 1e5 characters must arrive to be refused with the parser's own words.
_MOST_BYTES = 2_000_000
#: What the page shows in this order, with the heading of each.
TITLES = {
    "kernel": "The kernel",
    "verdict": "The verdict",
    "density": "The spectral density and its parts",
    "table": "The table, and its error",
    "columns": "How many columns",
}
#: Nothing is fetched from anywhere else, and no other page may show this one.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
EXAMPLES = (
    ("exp(-z**2/2) - exp(-z**2/200)", {"d": "16"}),
    ("exp(-a*z)*cos(2*z)", {"d": "3", "p.a": "1"}),
    ("matern", {"d": "2"}),
    ("(1 - z**2/4)**2", {"d": "3", "support": "2"}),
    ("spherical", {"d": "3"}),
    ("ntk", {"d": "16"}),
    ("(exp(-z**2/2)).on([0, 1])*(exp(-z)).on([2])", {"d": "3"}),
    ("Max(2 - z, 0)", {"d": "2", "metric": "l1"}),
)


@final
class _Pages:
    """What the server answers to each address."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._known: OrderedDict[tuple[Question, str], Panel] = OrderedDict()
        self._lock = threading.Lock()

    def page(self) -> ResponseReturnValue:
        """The form, with the state that the link carries."""
        from flask import render_template, request

        state = request.args.to_dict()
        asked = Question.from_form(state or {"k": EXAMPLES[0][0], **EXAMPLES[0][1]})
        links = [(k, urlencode({"k": k, **rest})) for k, rest in EXAMPLES]
        return render_template(
            "page.html",
            asked=asked,
            titles=TITLES,
            names=list(catalogue),
            examples=links,
            version=__version__,
        )

    def panel(self, name: str) -> ResponseReturnValue:
        """One panel, as HTML with what the form must know."""
        from flask import abort, render_template, request

        # Another site can neither ask nor read; browsers say who asks.
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            abort(403)
        if name not in TITLES:
            abort(404)
        form = request.form.to_dict()
        asked = Question.from_form(form)
        try:
            panel = self._answer(form.get("tab", ""), asked, name)
        except Superseded:
            return {"superseded": True}
        refusal = panel.refusal
        return {
            "html": render_template("panel.html", panel=panel, name=name),
            "fields": panel.fields,
            "refused": refusal is not None and not (panel.picture or panel.pieces),
            "place": [refusal.text, refusal.start, refusal.stop] if refusal is not None else None,
        }

    def _answer(self, tab: str, asked: Question, name: str) -> Panel:
        key = asked, name
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        panel = self._workers.ask(tab, asked, name)
        # Another time there may be more time.
        if panel.refusal is None or panel.refusal.kind != "TimeLimitError":
            with self._lock:
                self._known[key] = panel
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return panel


def _application(workers: Workers) -> Flask:
    try:
        from flask import Flask, abort, request
    except ImportError as error:
        raise MissingExtraError(
            "The page needs Flask, which is not installed: pip install 'kernel-spectra[explore]'."
        ) from error
    pages = _Pages(workers)
    app = Flask("rf.explore")
    app.config["MAX_CONTENT_LENGTH"] = app.config["MAX_FORM_MEMORY_SIZE"] = _MOST_BYTES
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.add_url_rule("/", "page", pages.page)
    app.add_url_rule("/panel/<name>", "panel", pages.panel, methods=["POST"])

    def refuse_other_names() -> None:
        # A name that another site has pointed here is not ours.
        if request.host.partition(":")[0] not in (HOST, "localhost"):
            abort(403)

    def closed(response):  # type: ignore[no-untyped-def]
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    app.before_request(refuse_other_names)
    app.after_request(closed)
    return app


def page_on(port: int, workers: Workers) -> BaseWSGIServer:
    """A server of the page on 127.0.0.1; its ``serve_forever`` answers.

    Parameters
    ----------
    port : int
        0 for any that is free; ``server_port`` says which.
    workers : Workers

    Raises
    ------
    MissingExtraError
        Where Flask is not installed.
    ParameterError
        Where the port is taken, or is none.
    """
    if not 0 <= port < 2**16:
        raise ParameterError(f"There is no port {port}: choose one from 1 to 65535, or 0 for any.")
    app = _application(workers)
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        """Says nothing of each request."""

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    try:
        return make_server(HOST, port, app, threaded=True, request_handler=Quiet)
    except (OSError, SystemExit) as error:
        raise ParameterError(
            f"The page cannot be served on port {port} ({error}): choose another with --port, or 0 "
            "for any that is free."
        ) from error


def serve(*, port: int, limit: str | None, opens: bool) -> int:
    """Serve the page until it is interrupted, the work of the command ``spectra explore``.

    Parameters
    ----------
    port : int
        0 for any that is free.
    limit : str or None
        What --time-limit says.
    opens : bool
        Whether to open a browser.
    """
    workers = Workers(limit)
    server = page_on(port, workers)
    address = f"http://{HOST}:{server.server_port}/"
    print(f"{address} shows the page; Ctrl-C ends it", file=sys.stderr, flush=True)
    if opens:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
        workers.close()
    return 0
