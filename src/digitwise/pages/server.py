"""The server of the local page: what is asked in JSON is answered in JSON, errors too, and no long problem blocks it.

Only this file imports starlette and uvicorn.
"""

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from digitwise.pages import LIMITS, views
from digitwise.pages.shelf import Shown

LOCAL = ("127.0.0.1", "localhost", "[::1]")
BODY = 2 * LIMITS["digits"] * LIMITS["numbers"]
"""Bytes of a request: the largest problem fits."""
WORKERS = 2
"""Problems that are worked out at once; the others wait their turn, and the page itself never does."""
TURN = 0.001
"""Seconds after which a working thread lets the others have a turn: Python's own choice is five times that."""
COUNT = 50
"""Problems of one request for an accuracy."""
STATIC = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
#: Nothing on the page comes from elsewhere, and no other page can put this one into a frame.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache",
}  # fmt: skip


class KnownHosts:
    """Refuse requests to any other name: a foreign page must not reach this server through a name of its own."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]):
        self.app, self.hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = dict(scope["headers"]).get(b"host", b"").decode("latin-1").lower()
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
            if name not in self.hosts:
                words = f"this server does not answer for '{name[:80]}': digitwise demo --name NAME adds a name"
                await _error(421, words)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def application(shelf: dict[str, Shown], hosts: Sequence[str] = ()) -> ASGIApp:
    """The page and what it asks for; `hosts` are names beside those of the local machine."""
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="digitwise")

    async def work(function: Callable[..., Any], *arguments: Any) -> Response:
        try:
            found = await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)
        except ValueError as error:
            return _error(400, str(error))
        return JSONResponse(found, headers=HEADERS)

    async def models(request: Request) -> Response:
        return await work(lambda: {"limits": LIMITS, "models": [shown.described() for shown in shelf.values()]})

    async def solve(request: Request) -> Response:
        asked = await _asked(request)
        return await work(views.solved, asked.text("problem"), _model(asked, shelf), asked.whole("lowest", 0))

    async def attention(request: Request) -> Response:
        asked = await _asked(request)
        where = asked.whole("layer", 0), asked.whole("head", 0)
        return await work(views.attended, asked.text("problem"), _model(asked, shelf), *where)

    async def leak(request: Request) -> Response:
        return await work(views.leaked, _model(await _asked(request), shelf))

    async def positions(request: Request) -> Response:
        return await work(views.vectors, _model(await _asked(request), shelf))

    async def draw(request: Request) -> Response:
        asked = await _asked(request)
        what = asked.text("operator", "+"), asked.text("how", "random"), asked.whole("digits", 10)
        return await work(lambda: {"problem": views.drawn(*what, asked.whole("seed", 0))})

    async def tally(request: Request) -> Response:
        asked = await _asked(request)
        chosen = [_model(_Asked({"model": name}), shelf) for name in asked.texts("models")]
        what = asked.text("operator", "+"), asked.text("how", "random"), asked.whole("digits", 10)
        count = asked.whole("count", 10)
        if not 1 <= count <= COUNT:
            raise HTTPException(400, f"count must be from 1 to {COUNT}, not {count}")
        return await work(views.tallied, chosen, *what, count, asked.whole("seed", 0))

    asked_for = {"solve": solve, "attention": attention, "leak": leak, "positions": positions, "draw": draw}
    asked_for |= {"tally": tally}
    routes = [Route(path, _static(name, kind)) for path, (name, kind) in STATIC.items()]
    routes.append(Route("/api/models", models))
    routes += [Route(f"/api/{name}", handler, methods=["POST"]) for name, handler in asked_for.items()]
    handlers: dict[Any, Any] = {HTTPException: _refused, Exception: _broken}
    return KnownHosts(Starlette(routes=routes, exception_handlers=handlers), [*LOCAL, *hosts])


class _Asked(dict[str, Any]):
    """A request's JSON object, whose fields are checked as they are read."""

    def text(self, name: str, default: str | None = None) -> str:
        value = self.get(name, default)
        if not isinstance(value, str):
            raise HTTPException(400, f"'{name}' must be a text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.get(name)
        if not isinstance(value, list) or not 1 <= len(value) <= 2:
            raise HTTPException(400, f"'{name}' must be a list of one or two texts")
        return [_Asked({name: item}).text(name) for item in value]

    def whole(self, name: str, default: int) -> int:
        value = self.get(name, default)
        if type(value) is not int or not 0 <= value < 2**31:
            raise HTTPException(400, f"'{name}' must be a whole number from 0 up")
        return value


async def _asked(request: Request) -> _Asked:
    """The body of a request. Pages from elsewhere cannot send this type of content without being allowed to."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "send application/json")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY:
            raise HTTPException(413, f"the request is larger than {BODY:,} bytes")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request is not JSON") from None
    if not isinstance(found, dict):
        raise HTTPException(400, "the request is not a JSON object")
    return _Asked(found)


def _model(asked: _Asked, shelf: dict[str, Shown]) -> Shown:
    name = asked.text("model")
    if name not in shelf:
        raise HTTPException(404, f"there is no model '{name[:80]}'; there is {', '.join(shelf)}")
    return shelf[name]


def _static(name: str, kind: str) -> Callable[[Request], Any]:
    content = files("digitwise").joinpath("pages", "static", name).read_bytes()

    async def respond(request: Request) -> Response:
        return Response(content, media_type=kind, headers=HEADERS)

    return respond


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status, headers=HEADERS)


async def _refused(request: Request, error: HTTPException) -> Response:
    return _error(error.status_code, error.detail)


async def _broken(request: Request, error: Exception) -> Response:
    return _error(500, f"this should not have happened: {type(error).__name__}")


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that the port is known before anything is served."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family)
    except (OSError, OverflowError) as error:
        raise ValueError(f"cannot listen at {host} port {port}: {error}; choose another with --port") from error


def serve(app: ASGIApp, bound: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Answer requests until the process is stopped."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    sys.setswitchinterval(TURN)
    Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run(sockets=[bound])
