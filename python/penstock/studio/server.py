"""What answers the page: files of the page, requests to runs, and to the file that the start named.

Everything lies below a token that nobody else knows: http://127.0.0.1:PORT/TOKEN/. Whoever does not say it gets 403 and nothing else. A page from
elsewhere cannot act: it does not know the token, its requests carry another origin, and a name that leads here by a trick is refused by its Host.
"""

import json
import secrets
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from penstock import _core, visits
from penstock.errors import Error
from penstock.studio.files import Workbench

PAGE = Path(__file__).parent / "page"
KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8"}
FILES = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in KINDS}
LONGEST = 1 << 20
# The page loads from here only, shows in no frame, and tells nobody where it is.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Refusal(Exception):  # noqa: N818 - it is an answer
    """An answer other than 200."""

    def __init__(self, status: HTTPStatus, message: str, **facts: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(message)
        self.status, self.facts = status, facts


class Studio(ThreadingHTTPServer):
    """run: the run that the page shows first; workbench: the file, where the start named one."""

    daemon_threads = True

    def __init__(self, address: str, port: int, run: str, workbench: Workbench | None) -> None:
        self.token = secrets.token_urlsafe(24)
        self.run, self.workbench = run, workbench
        super().__init__((address, port), Handler)
        host, self.port = self.server_address[0], self.server_address[1]
        self.hosts = {f"{host}:{self.port}", f"localhost:{self.port}"}
        self.url = f"http://{host}:{self.port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    server: Studio
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        self._answer(self._get)

    def do_POST(self) -> None:  # noqa: N802
        self._answer(self._post)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002, ANN401
        """Nothing: the terminal is the user's."""

    # ---- who may ask ----

    def _path(self) -> list[str]:
        """What lies below the token. Raises Refusal for whoever must not ask."""
        if self.headers.get("Host", "") not in self.server.hosts:
            raise Refusal(HTTPStatus.FORBIDDEN, "this studio is not called so")
        _, token, *path = (unquote(part) for part in urlsplit(self.path).path.split("/"))
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(HTTPStatus.FORBIDDEN, "the address of a studio has a token in it, which the command has printed")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            raise Refusal(HTTPStatus.FORBIDDEN, "a page from elsewhere may not act here")
        if self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(HTTPStatus.FORBIDDEN, "a page from elsewhere may not look in here")
        return path

    def _answer(self, act: Any) -> None:  # noqa: ANN401
        try:
            act(self._path())
        except Refusal as refusal:
            self._send_json(refusal.status, {"error": str(refusal), **refusal.facts})
        except visits.Refused as refusal:
            self._send_json(HTTPStatus.CONFLICT, {"error": str(refusal), "problems": refusal.problems})
        except visits.RunGone as gone:
            self._send_json(HTTPStatus.GONE, {"error": str(gone)})
        except (Error, OSError, UnicodeError) as error:
            if isinstance(error, ConnectionError):
                self.close_connection = True  # the page has gone
                return
            self._send_json(HTTPStatus.BAD_REQUEST, {"error": str(error)})

    # ---- what is asked ----

    def _get(self, path: list[str]) -> None:
        match path:
            case [""] | ["index.html"]:
                self._send_file(FILES["index.html"])
            case ["api", "start"]:
                bench = self.server.workbench
                self._send_json(HTTPStatus.OK, {"run": self.server.run, "file": bench and bench.path.name, "text": bench and bench.read()})
            case ["api", "runs"]:
                self._send_json(HTTPStatus.OK, {"runs": visits.running()})
            case ["api", "passes"]:
                self._send_json(HTTPStatus.OK, {"passes": [{"name": name, "purpose": purpose} for name, purpose, _ in _core.passes()]})
            case ["api", "state"]:
                self._send_json(HTTPStatus.OK, self._bench().state())
            case ["api", "run", name, "watch"]:
                every = parse_qs(urlsplit(self.path).query).get("every", ["0.5"])[0]
                self._send_lines(visits.watch(name, _seconds(every)))
            case ["api", "run", name, ("graph" | "report" | "components" | "xml") as what]:
                self._send_json(HTTPStatus.OK, visits.ask(name, what))
            case _ if "/".join(path) in FILES:
                self._send_file(FILES["/".join(path)])
            case _:
                raise Refusal(HTTPStatus.NOT_FOUND, "there is no such page")

    def _post(self, path: list[str]) -> None:
        said = self._said()
        match path:
            case ["api", "run", name, ("edits" | "events" | "close" | "stop") as what]:
                made: dict[str, Any] = visits.ask(name, what, said)
            case ["api", "check"]:
                made = self._bench().check(_text(said, "text"))
            case ["api", "save"]:
                self._bench().save(_text(said, "text"))
                made = {}
            case ["api", "transform"]:
                made = {"text": self._bench().transform(_text(said, "text"), [str(each) for each in said.get("passes", [])])}
            case ["api", "compile"]:
                made = dict(self._bench().compile(_text(said, "text")))
            case ["api", "begin"]:
                made = {"run": self._bench().start({str(name): str(value) for name, value in said.get("settings", {}).items()})}
            case ["api", "halt"]:
                self._bench().halt()
                made = {}
            case _:
                raise Refusal(HTTPStatus.NOT_FOUND, "there is nothing of this name to do")
        self._send_json(HTTPStatus.OK, made)

    def _bench(self) -> Workbench:
        if self.server.workbench is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "this studio was started without a file: penstock studio FILE.xml")
        return self.server.workbench

    def _said(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > LONGEST:
            self.close_connection = True
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{LONGEST:,} bytes are the most that may be said at once")
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "what is said here is JSON")
        try:
            said = json.loads(self.rfile.read(int(length)) or b"{}")
        except ValueError as error:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"this is no JSON: {error}") from None
        if not isinstance(said, dict):
            raise Refusal(HTTPStatus.BAD_REQUEST, "an object was expected")
        return said

    # ---- the answers ----

    def _begin(self, status: HTTPStatus, kind: str, length: int | None) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _send_json(self, status: HTTPStatus, said: dict[str, Any]) -> None:
        if status >= HTTPStatus.BAD_REQUEST:
            self.close_connection = True  # a body may not have been read
        body = json.dumps(said).encode()
        self._begin(status, "application/json", len(body))
        self.wfile.write(body)

    def _send_file(self, path: Path) -> None:
        body = path.read_bytes()
        self._begin(HTTPStatus.OK, KINDS[path.suffix], len(body))
        self.wfile.write(body)

    def _send_lines(self, looks: Iterator[dict[str, Any]]) -> None:
        first = next(looks, None)  # raises where there is no such run
        self._begin(HTTPStatus.OK, "application/x-ndjson", None)
        try:
            while first is not None:
                self.wfile.write(json.dumps(first).encode() + b"\n")
                self.wfile.flush()
                first = next(looks, None)
        except Error:
            return  # the run has ended: so do the lines


def _text(said: dict[str, Any], name: str) -> str:
    if not isinstance(said.get(name), str):
        raise Refusal(HTTPStatus.BAD_REQUEST, f"'{name}' is to be a text")
    return str(said[name])


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.02 <= seconds <= 3600:
        raise Refusal(HTTPStatus.BAD_REQUEST, "'every' is a number of seconds from 0.02 to 3600")
    return seconds
