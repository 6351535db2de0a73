"""The collector: a web server that shows the page and keeps the reports that devices send."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ldpopt.errors import ModelFileError
from ldpopt.fieldwork.connections import (
    SECONDS,
    address_of,
    bounded_protocol,
    listen,
    most_waiting,
)
from ldpopt.fieldwork.form_page import closed_page
from ldpopt.fieldwork.messages import InvalidMessageError, Message
from ldpopt.fieldwork.store import Store
from ldpopt.foundation import optional

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request

MAX_BATCH = 500  # largest number of reports in a transaction
MAX_SECONDS = 20.0  # longest time that the body of a message takes to arrive
BURST = 10  # seconds of a rate that may come at once
IDLE = 600.0  # seconds without a report after which the file shows no order of arrival
LAST = 30  # seconds for the answers that are due when the collector ends
# Reports may come from a file or from another server than the page's; no cookies are ever sent.
OPEN = {"access-control-allow-origin": "*", "cache-control": "no-store"}
OPEN |= {"access-control-expose-headers": "retry-after"}
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
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")  # those of them that the system has
LOGGERS = ("uvicorn.error", "asyncio")


class Answers(Counter[int]):
    """How many messages were answered with each status; ``faults`` counts what went wrong, by
    kind.
    """

    def __init__(self) -> None:
        super().__init__()
        self.faults: Counter[str] = Counter()

    def __str__(self) -> str:
        parts = [f"{status}: {count:,}" for status, count in sorted(self.items())]
        faults = [f"{kind} {count:,}" for kind, count in sorted(self.faults.items())]
        return ", ".join(parts or ["no messages"]) + "".join(f"; {fault}" for fault in faults)


class ReportRate:
    """At most ``number`` reports a second in all, ten times as many at once; None: any number."""

    def __init__(self, number: float | None) -> None:
        self._number = number
        self._most = max(1.0, BURST * (number or 0))
        self._left = self._most
        self._at = time.monotonic()

    def seconds(self) -> int:
        """How long to wait for the next report; 0 if it may come now."""
        if self._number is None:
            return 0
        now = time.monotonic()
        self._left = min(self._most, self._left + self._number * (now - self._at))
        self._at = now
        return 0 if self._left >= 1 else math.ceil((1 - self._left) / self._number)

    def take(self, count: int) -> None:
        """Count reports."""
        self._left -= count


class Collector:
    """What answers requests: the page, messages, and whether the database can be used."""

    def __init__(
        self,
        store: Store,
        page: str = "",
        until: datetime | None = None,
        rate: float | None = None,
    ) -> None:
        self.store = store
        self.page = page
        self.until = until
        self.rate = ReportRate(rate)
        self.answers = Answers()
        self.writer = Writer(store, self.rate)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._trouble = ""  # the error of the database that was written to stderr last
        self._look: asyncio.Task[bool] | None = None

    def app(self) -> Starlette:
        """The web application."""
        route = optional.starlette_routing.Route
        routes = [
            route("/", self._show),
            route("/health", self._health),
            route("/reports", self._receive, methods=["POST", "OPTIONS"]),
        ]
        found = optional.starlette_applications.Starlette(routes=routes, lifespan=self._running)
        found.router.redirect_slashes = False
        return found  # type: ignore[no-any-return]

    @asynccontextmanager
    async def _running(self, app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        task = asyncio.create_task(self.writer.run())
        yield
        await self.writer.end()
        await task

    async def _show(self, request: Request) -> Any:
        page = self._closed if self._is_closed() else self.page
        return optional.starlette_responses.HTMLResponse(page, headers=PAGE)

    @cached_property
    def _closed(self) -> str:
        return closed_page(self.store.survey)

    def _is_closed(self) -> bool:
        return self.until is not None and datetime.now(self.until.tzinfo) >= self.until

    async def _health(self, request: Request) -> Any:
        if self._look is None or self._look.done():  # one look at a time, however many ask
            self._look = asyncio.create_task(asyncio.to_thread(self._is_usable))
        is_usable = await asyncio.shield(self._look)
        json = optional.starlette_responses.JSONResponse
        return json({"ok": is_usable}, 200 if is_usable else 503, OPEN)

    def _is_usable(self) -> bool:
        try:
            self.store.require_usable()
        except ModelFileError as error:
            self._tell_once(error.one_line)
            return False
        return True

    async def _receive(self, request: Request) -> Any:
        if request.method == "OPTIONS":
            return optional.starlette_responses.Response(headers=PREFLIGHT)
        json = optional.starlette_responses.JSONResponse
        try:
            answer = await self._answer(request)
        except optional.starlette_requests.ClientDisconnect:
            self.answers.faults["cut off"] += 1
            return json({"refused": "the message was cut off"}, 400)  # nobody reads this
        except Exception as error:
            self.answers.faults[type(error).__name__] += 1
            answer = (500, {"refused": "the report could not be kept"})
        status, content = answer
        self.answers[status] += 1
        late = {"retry-after": str(max(1, self.rate.seconds()))} if status == 429 else {}
        return json(content, status, OPEN | late)

    async def _answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        """Keep the report in a request; return status and content of the response."""
        if self._is_closed():
            return 410, {"refused": "the survey is closed"}
        reader = self.store.reader
        body = b""
        try:
            async with asyncio.timeout(MAX_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > reader.max_bytes:
                        most = f"the message has more than {reader.max_bytes} bytes"
                        return 413, {"refused": most}
        except TimeoutError:
            return 408, {"refused": f"the message took more than {MAX_SECONDS:g} s"}
        try:
            message = reader.read(body)
        except InvalidMessageError as error:
            return 422, {"refused": str(error)}
        if self.rate.seconds():
            return 429, {"refused": "too many reports come; send the same message again later"}
        return await self._keep(message)

    async def _keep(self, message: Message) -> tuple[int, dict[str, Any]]:
        """Keep a message; return status and content of the response."""
        try:
            is_kept = await self.writer.keep(message)
            is_forged = bool(message.fields) and not is_kept
            if is_forged and await asyncio.to_thread(self.store.has_other_fields, message):
                return 422, {"refused": "the fields are not those of the invitation"}
        except ModelFileError as error:
            self._tell_once(error.one_line)
            if error.code == "database-value":
                return 500, {"refused": "the database does not take the report"}
            later = "the database cannot be used now; send the same message again later"
            return 503, {"refused": later}
        self._trouble = ""
        if is_kept:
            return 200, {"kept": True}
        used = "the id was used for another report, or the invitation is unknown or was used"
        return 409, {"refused": used}

    def _tell_once(self, line: str) -> None:
        """Write a line on the database, which quotes no report, until another one is due."""
        if line != self._trouble:
            self._trouble = line
            tell(line)

    def say_counts(self) -> None:
        """Write how many reports there are and how messages were answered, from any thread."""

        async def say() -> None:
            try:
                tell(f"{await asyncio.to_thread(self.store.count):,} reports; {self.answers}")
            except ModelFileError as error:
                tell(error.one_line)

        if self._loop is not None and self._loop.is_running():
            asyncio.run_coroutine_threadsafe(say(), self._loop)


def app_of(store: Store, page: str = "", until: datetime | None = None) -> Starlette:
    """Return the web application: ``GET /`` is the page, ``POST /reports`` keeps a report, ``GET
    /health`` says whether the database is there and free to write; ``until`` is a moment.
    """
    return Collector(store, page, until).app()


class Writer:
    """Gives the store all messages that came while it was writing, in one transaction (group
    commit).
    """

    def __init__(self, store: Store, rate: ReportRate | None = None) -> None:
        self.store = store
        self._rate = rate or ReportRate(None)
        self._shows_order = False  # reports came since the order of arrival was removed
        # None ends the writing
        self._waiting: asyncio.Queue[tuple[Message, asyncio.Future[bool]] | None] = asyncio.Queue()

    async def keep(self, message: Message) -> bool:
        """Wait until a message is on the disk; return whether it was kept."""
        if not self.store.invited:
            self._rate.take(1)
        is_kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        await self._waiting.put((message, is_kept))
        return await is_kept

    async def end(self) -> None:
        """Let `run` end when all messages are written."""
        await self._waiting.put(None)

    async def run(self) -> None:
        """Write until `end`."""
        while (first := await self._next()) is not None:
            batch = [first]
            while not self._waiting.empty() and len(batch) < MAX_BATCH:
                if (waiting := self._waiting.get_nowait()) is None:
                    await self.end()
                    break
                batch.append(waiting)
            messages, futures = zip(*batch, strict=True)
            self._shows_order = True
            used = self.store.used
            results = await asyncio.to_thread(self._write, messages)
            self._rate.take(self.store.used - used)
            for future, result in zip(futures, results, strict=True):
                if future.done():  # whoever sent it is gone
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    async def _next(self) -> tuple[Message, asyncio.Future[bool]] | None:
        """The next message; while none comes, the order of arrival is removed from the file."""
        while self._shows_order:
            try:
                async with asyncio.timeout(IDLE):
                    return await self._waiting.get()
            except TimeoutError:
                with suppress(ModelFileError):
                    await asyncio.to_thread(self.store.finish)
                    self._shows_order = False
        return await self._waiting.get()

    def _write(self, messages: Sequence[Message]) -> list[bool | Exception]:
        """Write messages at once, or one by one if one of them may prevent it."""
        # Not if the database is locked or full: each of 500 messages would wait 10 s.
        try:
            return list(self.store.add(messages))
        except Exception as error:  # no answer says that the report is kept
            is_of_database = isinstance(error, ModelFileError) and error.code != "database-value"
            if is_of_database or len(messages) == 1:
                return [error] * len(messages)
        return [result for message in messages for result in self._write([message])]


def serve(
    store: Store,
    page: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    until: datetime | None = None,
    rate: float | None = None,
    started: Callable[[str], None] = lambda address: None,
) -> Counter[int]:
    """Run a collector until Ctrl-C, SIGTERM or SIGHUP; return how many messages were answered with
    each status.

    ``started`` is called with its address, ``rate`` is a number of reports a second. There is no
    access log: it would have the address and the time of every request. Whatever ends it, messages
    that arrived are answered first, and then the order of arrival is removed from the database
    (`Store.finish`): a warning says if it is still there. A second signal meanwhile ends at once.
    """
    collector = Collector(store, page, until, rate)
    most = most_waiting()
    settings: dict[str, Any] = dict.fromkeys(
        ("access_log", "server_header", "date_header", "proxy_headers"), False
    )
    settings |= {"log_config": None, "log_level": "warning", "ws": "none"}
    # asyncio accepts as many connections at once as may wait for it, before one of them is counted
    settings |= {"limit_concurrency": 2 * most, "backlog": max(1, most // 2)}
    settings |= {"timeout_graceful_shutdown": LAST, "timeout_keep_alive": int(SECONDS)}
    settings |= {"http": bounded_protocol(most)}
    server = optional.uvicorn.Server(optional.uvicorn.Config(collector.app(), **settings))
    with (
        listen(host, port) as listener,
        _signals(collector, server),
        _counted_logs(collector.answers),
    ):
        with suppress(KeyboardInterrupt):
            started(address_of(listener, host))
            server.run(sockets=[listener])
        _finish(store)
    return collector.answers


def tell(line: str) -> None:
    """Write a line to stderr, if possible."""
    with suppress(OSError, ValueError):
        print(f"ldpopt: {line}", file=sys.stderr, flush=True)


@contextmanager
def _signals(collector: Collector, server: Any) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the server as Ctrl-C does, and SIGUSR1 write the counts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        # uvicorn handles SIGINT and SIGTERM, and raises them again while its loop still runs: an
        # exception there could end the process before the order of arrival is removed
        if not server.should_exit:
            raise KeyboardInterrupt

    handlers: dict[str, Any] = {
        "SIGINT": interrupt,
        "SIGTERM": interrupt,
        "SIGHUP": lambda *_: signal.raise_signal(signal.SIGTERM),
        "SIGUSR1": lambda *_: collector.say_counts(),
    }
    known = {name: getattr(signal, name) for name in SIGNALS if hasattr(signal, name)}
    before = {name: signal.getsignal(number) for name, number in known.items()}
    for name in ("SIGHUP", "SIGINT"):  # nohup, and jobs in the background
        if before.get(name) is signal.SIG_IGN:
            del handlers[name]
    try:
        for name in handlers.keys() & known.keys():
            signal.signal(known[name], handlers[name])
        yield
    finally:
        for name, handler in before.items():
            if handler is not None:  # else it was not set by Python
                signal.signal(known[name], handler)


def _finish(store: Store) -> None:
    """Remove the order of arrival; a signal ends the process at once, but a second SIGHUP."""
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if hasattr(signal, "SIGHUP"):  # a terminal that is closed may send it twice
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        store.finish()
    except ModelFileError as error:
        warnings.warn(error.one_line, stacklevel=3)


class _Counting(logging.Handler):
    """Counts the records of a log by kind, and writes nothing of them."""

    def __init__(self, faults: Counter[str]) -> None:
        super().__init__()
        self._faults = faults

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record by the class of its error, or else by its logger."""
        error = record.exc_info[1] if record.exc_info else None
        self._faults[type(error).__name__ if error else f"{record.name} {record.levelname}"] += 1


@contextmanager
def _counted_logs(answers: Answers) -> Iterator[None]:
    """Count what the server would log: a message may be in it."""
    handler = _Counting(answers.faults)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (propagates, level) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.propagate = propagates
            logger.setLevel(level)
