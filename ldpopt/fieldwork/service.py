"""The collector: a web server that serves the page and keeps the reports that devices send."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError
from ldpopt.fieldwork.messages import InvalidMessageError, Message
from ldpopt.fieldwork.store import Store
from ldpopt.foundation import optional

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

MAX_BATCH = 500  # largest number of reports in a transaction
MAX_CONNECTIONS = 1000  # largest number of connections at once; others get the status 503
MAX_SECONDS = 20.0  # longest time that a message takes to arrive
# Reports may come from a file or from another server than the page's; no cookies are ever sent.
OPEN = {"access-control-allow-origin": "*", "cache-control": "no-store"}
PREFLIGHT = OPEN | {
    "access-control-allow-headers": "content-type",
    "access-control-allow-methods": "POST",
}
PAGE = {"cache-control": "no-cache", "content-security-policy": "frame-ancestors 'none'"}
PAGE |= {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def app_of(store: Store, page: str = "", until: datetime | None = None) -> Starlette:
    """Return the web application: ``GET /`` is the page, ``POST /reports`` keeps a report,
    ``until`` a moment.
    """
    responses, routing = optional.starlette_responses, optional.starlette_routing
    writer = Writer(store)

    async def receive(request: Request) -> Any:
        if request.method == "OPTIONS":
            return responses.Response(headers=PREFLIGHT)
        status, content = await response_to(request, writer, until)
        return responses.JSONResponse(content, status, OPEN)

    async def show(request: Request) -> Any:
        return responses.HTMLResponse(page, headers=PAGE)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(writer.run())
        yield
        task.cancel()

    routes = [
        routing.Route("/", show),
        routing.Route("/reports", receive, methods=["POST", "OPTIONS"]),
    ]
    application = optional.starlette_applications.Starlette(routes=routes, lifespan=lifespan)
    return application  # type: ignore[no-any-return]


async def response_to(
    request: Request, writer: Writer, until: datetime | None
) -> tuple[int, dict[str, Any]]:
    """Keep the report in a request; return status and content of the response."""
    if until is not None and datetime.now(until.tzinfo) >= until:
        return 410, {"refused": "the survey is closed"}
    reader, body = writer.store.reader, b""
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > reader.max_bytes:
                    return 413, {"refused": f"the message has more than {reader.max_bytes} bytes"}
        is_kept = await writer.keep(reader.read(body))
    except TimeoutError:
        return 408, {"refused": f"the message took more than {MAX_SECONDS:g} s"}
    except InvalidMessageError as error:
        return 422, {"refused": str(error)}
    except ModelFileError:
        return 503, {
            "refused": "the database cannot be used now; send the same message again later"
        }
    if is_kept:
        return 200, {"kept": True}
    return 409, {
        "refused": "the id was used for another report, or the invitation is unknown or was used"
    }


class Writer:
    """Gives the store all messages that came while it was writing, in one transaction (group
    commit).
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: asyncio.Queue[tuple[Message, asyncio.Future[bool]]] = asyncio.Queue()

    async def keep(self, message: Message) -> bool:
        """Wait until a message is on the disk; return whether it was kept."""
        is_kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        await self._waiting.put((message, is_kept))
        return await is_kept

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            batch = [await self._waiting.get()]
            while not self._waiting.empty() and len(batch) < MAX_BATCH:
                batch.append(self._waiting.get_nowait())
            messages, futures = zip(*batch, strict=True)
            try:
                results: list[bool | Exception] = list(
                    await asyncio.to_thread(self.store.add, messages)
                )
            except Exception as error:  # no answer says that the report is kept
                results = [error] * len(batch)
            for future, result in zip(futures, results, strict=True):
                if future.done():  # whoever sent it is gone
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)


def serve(
    store: Store,
    page: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    until: datetime | None = None,
    started: Callable[[str], None] = lambda address: None,
) -> None:
    """Run a collector until Ctrl-C or SIGTERM; ``started`` is called with its address.

    There is no access log: it would have the address and the time of every request.
    """
    app = app_of(store, page, until)
    with socket.create_server((host, port), backlog=2048) as listener, suppress(KeyboardInterrupt):
        silent: dict[str, Any] = dict.fromkeys(
            ("access_log", "server_header", "date_header", "proxy_headers"), False
        )
        silent |= {"log_config": None, "log_level": "warning", "limit_concurrency": MAX_CONNECTIONS}
        config = optional.uvicorn.Config(app, **silent)
        started(f"http://{host}:{listener.getsockname()[1]}/")
        optional.uvicorn.Server(config).run(sockets=[listener])
