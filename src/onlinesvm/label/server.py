"""The labelling page over HTTP: requests become calls of a session, replies are JSON.

``make_app(session, config)`` is a Starlette application without any protection; ``Gate`` (``safety.py``)
stands in front of it.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from .errors import LabelError, RefusedError, UnsavedError
from .exporting import as_bytes, as_csv, as_json_lines, label_rows, write_parquet
from .images import thumbnail
from .modelling import predictions, save_final_model
from .pages import Who
from .session import MOST_AHEAD, Session

PAGE = Path(__file__).parent / "page"

MOST_NAME = 80
"""Longest name of an annotator, in characters."""

FEW_AHEAD = 3
"""Likely answers that are learned first, so that the next image is loaded soon."""

SMALL = 200
"""Width and height of small images."""

SANDBOX = "default-src 'none'; sandbox"

Body = dict[str, Any]


@dataclass
class Config:
    """Settings of the page."""

    title: str
    version: str
    annotator: str | None = None
    suggested: str = ""
    guidelines: str = ""


class Api:
    """One method for each request of the page; ``body`` is its JSON."""

    def __init__(self, session: Session):
        self._session = session

    def question(self, body: Body) -> Body:
        """The next question, and the panel."""
        return self._state(_who(body), body)

    def answer(self, body: Body) -> Body:
        """One answer; the next question."""
        who = _who(body)
        self._session.answer(
            who,
            body.get("item"),
            str(body.get("kind")),
            body.get("label"),
            _key(body),
            str(body.get("note") or ""),
            bool(body.get("change")),
        )
        return self._state(who, body)

    def undo(self, body: Body) -> Body:
        """Undo the last action."""
        return self._state(_who(body), body, done=self._session.undo(_who(body), _key(body)))

    def redo(self, body: Body) -> Body:
        """Do it again."""
        return self._state(_who(body), body, done=self._session.redo(_who(body), _key(body)))

    def ahead(self, body: Body) -> Body:
        """Compute what comes after each possible answer, or the likeliest, before it is given."""
        most = FEW_AHEAD if body.get("few") else MOST_AHEAD
        return {"items": self._session.look_ahead(_who(body), most)}

    def grid(self, body: Body) -> Body:
        """Items for which the model predicts a label."""
        return {"items": self._session.grid(_who(body), str(body.get("label")))}

    def answer_grid(self, body: Body) -> Body:
        """The answers of a grid."""
        who = _who(body)
        done = self._session.answer_grid(
            who, body.get("label"), body.get("right"), body.get("wrong"), _key(body)
        )
        return {"done": done, "panel": self._session.panel(who)}

    def relabel(self, body: Body) -> Body:
        """Another label for several items."""
        done = self._session.relabel(_who(body), body.get("items"), body.get("label"), _key(body))
        return {"done": done, "panel": self._session.panel(_who(body))}

    def feed(self, body: Body) -> Body:
        """Ask about these items first."""
        return {"done": self._session.feed(_who(body), body.get("items"), _key(body))}

    def classes(self, body: Body) -> Body:
        """Add, rename or merge classes."""
        who, kind = _who(body), str(body.get("kind"))
        self._session.change_classes(who, kind, body.get("name"), body.get("to"), _key(body))
        return {"panel": self._session.panel(who)}

    def item(self, body: Body) -> Body:
        """One item."""
        with self._session.reading() as overview:
            return {"item": overview.item(self._session.pool.check(body.get("item")))}

    def search(self, body: Body) -> Body:
        """Items with some words, or like another one."""
        with self._session.reading() as overview:
            if "like" in body:
                return {"items": overview.alike(body["like"])}
            return {"items": overview.search(str(body.get("words") or "")[:200])}

    def review(self, body: Body) -> Body:
        """Doubtful labels, disagreements, or the items of a class."""
        with self._session.reading() as overview:
            if body.get("kind") == "class":
                first = body.get("first")
                return {
                    "items": overview.of_class(
                        str(body.get("label")),
                        first if isinstance(first, int) and first >= 0 else 0,
                    )
                }
            if body.get("kind") == "disagreements":
                return overview.disagreements()
            return {"items": overview.doubtful()}

    def map(self, body: Body) -> Body:
        """The pool in two dimensions."""
        with self._session.reading() as overview:
            return overview.map()

    def leave(self, body: Body) -> Body:
        """A page is closed."""
        self._session.leave(_who(body))
        return {}

    def _state(self, who: Who, body: Body, **more: Any) -> Body:
        mode, label = str(body.get("mode") or "label"), body.get("target")
        question = self._session.question(who, mode, None if label is None else str(label))
        return {"question": question, "panel": self._session.panel(who), **more}


CALLS = (
    "question", "answer", "undo", "redo", "ahead", "grid", "answer_grid", "relabel", "feed", "classes",
    "item", "search", "review", "map", "leave",
)  # fmt: skip


def _who(body: Body) -> Who:
    annotator, client = body.get("annotator"), body.get("client")
    if not isinstance(annotator, str) or not 0 < len(annotator.strip()) <= MOST_NAME:
        raise RefusedError(f"An annotator needs a name of up to {MOST_NAME} characters.")
    if not annotator.isprintable():
        raise RefusedError("The annotator's name contains characters that cannot be displayed.")
    if not isinstance(client, str) or not 0 < len(client) <= MOST_NAME:
        raise RefusedError("The page has no name; load it again.")
    return Who(annotator.strip(), client)


def _key(body: Body) -> str:
    key = body.get("key")
    if not isinstance(key, str) or not 8 <= len(key) <= 100:
        raise RefusedError("A request that changes something needs a key of 8 to 100 characters.")
    return key


def _endpoint(call: Callable[[Body], Body], config: Config) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            body = json.loads(await request.body())
        except ClientDisconnect:
            return JSONResponse({"error": "The request is too large."}, 413)
        except (ValueError, RecursionError):
            return JSONResponse({"error": "The request is not JSON."}, 400)
        if not isinstance(body, dict):
            return JSONResponse({"error": "The request is not an object."}, 400)
        if config.annotator is not None:
            body["annotator"] = config.annotator
        started = time.perf_counter()
        status, found = await run_in_threadpool(_called, call, body)
        spent = 1000 * (time.perf_counter() - started)
        return JSONResponse(found, status, {"server-timing": f"app;dur={spent:.2f}"})

    return endpoint


def _called(call: Callable[[Body], Body], body: Body) -> tuple[int, Body]:
    try:
        return 200, call(body)
    except UnsavedError as error:
        return 507, {"error": str(error)}
    except RefusedError as error:
        return 409, {"error": str(error)}
    except LabelError as error:
        return 422, {"error": str(error)}


def _image(session: Session) -> Any:
    async def image(request: Request) -> Response:
        try:
            number = session.pool.check(request.path_params["number"])
            data, media = await run_in_threadpool(session.source.image, number)
            if request.query_params.get("small"):
                data, media = await run_in_threadpool(reduced, data, media)
        except (LabelError, OSError) as error:
            said = str(error) if isinstance(error, LabelError) else "The file cannot be read."
            return JSONResponse({"error": said}, 404)
        headers = {"content-security-policy": SANDBOX, "cache-control": "private, max-age=3600"}
        return Response(data, media_type=media, headers=headers)

    return image


def reduced(data: bytes, media: str) -> tuple[bytes, str]:
    """An image that fits into a tile of a grid."""
    if len(data) < 30_000:
        return data, media
    return thumbnail(data, SMALL), "image/jpeg"


# -- exports ---------------------------------------------------------------------------------

TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson", "labelstudio": "application/json"}

NAMES = {
    "labels.csv": "csv", "labels.jsonl": "jsonl", "label-studio.json": "labelstudio",
}  # fmt: skip


def _export(session: Session) -> Any:
    async def export(request: Request) -> Response:
        name = request.path_params["name"]
        status, found = await run_in_threadpool(_exported, session, name)
        if isinstance(found, str):
            return JSONResponse({"error": found}, status)
        if isinstance(found, Path):
            gone = BackgroundTask(found.unlink, missing_ok=True)
            return FileResponse(found, filename=name, background=gone)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        ending = name.rpartition(".")[2]
        kind = TYPES.get(NAMES.get(name, ending), "application/octet-stream")
        return StreamingResponse(found, media_type=kind, headers=headers)

    return export


def _exported(session: Session, name: str) -> tuple[int, Iterator[bytes] | Path | str]:
    """An export by its file name: pieces, a file to send and remove, or a message."""
    with session.reading():
        try:
            if name in NAMES:
                return 200, as_bytes(NAMES[name], session.record, session.pool)
            if name == "predictions.csv":
                rows = predictions(session)
                first = next(rows)
                return 200, as_csv(_chained(first, rows), list(first))
            if name == "predictions.jsonl":
                rows = predictions(session)
                return 200, as_json_lines(_chained(next(rows), rows))
            if name in ("labels.parquet", "model.safetensors"):
                return 200, _written(session, name)
        except LabelError as error:
            return 409, str(error)
    return 404, f"There is no export {name!r}."


def _chained(first: Body, rest: Iterator[Body]) -> Iterator[Body]:
    yield first
    yield from rest


def _written(session: Session, name: str) -> Path:
    with tempfile.NamedTemporaryFile(suffix=name, delete=False) as file:
        path = Path(file.name)
    try:
        if name == "labels.parquet":
            write_parquet(path, label_rows(session.record, session.pool), session.pool)
        else:
            save_final_model(session, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


# -- the page --------------------------------------------------------------------------------


def _page(config: Config) -> str:
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(loader=FileSystemLoader(PAGE), autoescape=True)
    return environment.get_template("index.html").render(config=config)


def make_app(session: Session, config: Config) -> Starlette:
    """The application, without any protection."""
    api, html = Api(session), _page(config)

    async def page(request: Request) -> Response:
        return HTMLResponse(html)

    async def broken(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": "The server has failed; see the terminal."}, 500)

    calls = [
        Route(f"/api/{name}", _endpoint(getattr(api, name), config), methods=["POST"])
        for name in CALLS
    ]
    routes = [
        Route("/", page),
        *calls,
        Route("/item/{number:int}/image", _image(session)),
        Route("/export/{name}", _export(session)),
        Mount("/static", StaticFiles(directory=PAGE / "static")),
    ]
    return Starlette(routes=routes, exception_handlers={Exception: broken})
