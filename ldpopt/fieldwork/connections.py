"""Connections of the collector: whoever says nothing, or says it slowly, cannot keep others out."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextlib import suppress
from typing import Any

from ldpopt.errors import StatementError
from ldpopt.foundation import optional

SECONDS = 10.0  # longest time for the head of a request, and for no progress of a slow reader
MAX_WAITING = 500  # largest number of connections that the server waits for
DESCRIPTORS = 4096  # file descriptors that are asked for
SPARE = 64  # of them for files and the database


def most_waiting() -> int:
    """Raise the limit of file descriptors; return how many connections may keep the server
    waiting.
    """
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = max(soft, DESCRIPTORS)
        allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return max(1, min(MAX_WAITING, (allowed - SPARE) // 2))
    return MAX_WAITING


def listen(host: str, port: int) -> socket.socket:
    """Listen at an address of this machine, IPv4 or IPv6; ``::`` is all of both kinds."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server((host, port), family=family, dualstack_ipv6=both)
    except (OSError, OverflowError) as error:
        is_used = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        raise StatementError(
            f"cannot listen: {getattr(error, 'strerror', None) or error}",
            code="port" if is_used else "host",
            where=f"{host}, port {port}",
            do="use --port N, 0 for any free one"
            if is_used
            else "use --host with an address of this machine, and a --port above 1023",
        ) from None
    # accepted connections inherit it: small answers do not wait for others
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """The address of a page, as one types it."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}/"


class Bounded:
    """Before a protocol of uvicorn: bounds how long and how many connections keep the server
    waiting, for a request or for an answer to be read.

    A head has 10 s, from the opening of the connection or the last answer, and an answer goes on as
    long as some of it is read in 10 s. Of more than ``most`` connections the one that has waited
    longest is closed. Nothing is counted by address: behind a proxy all have one.
    """

    waiting: dict[Bounded, asyncio.TimerHandle | None]  # the longest first
    most: int
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any  # the last request, if there was one

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first head."""
        super().connection_made(transport)  # type: ignore[misc]
        self._wait_with_timer()

    def data_received(self, data: bytes) -> None:
        """Wait on, unless the request is complete."""
        before = self.cycle
        super().data_received(data)  # type: ignore[misc]
        if self.cycle is before and (before is None or before.response_complete):
            return  # a part of a head
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete:
            self._wait()  # for the body, whose time the application limits
        elif self.cycle is not None and not self.cycle.response_complete:
            self._leave()

    def on_response_complete(self) -> None:
        """Wait for the next head, and for the reader of a long answer."""
        super().on_response_complete()  # type: ignore[misc]
        is_idle = self.cycle.response_complete  # no other request came before this answer
        if is_idle and not (self.transport.is_closing() and self._unread() == 0):
            self._leave()
            self._wait_with_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._leave()
        super().connection_lost(exc)  # type: ignore[misc]

    def _wait_with_timer(self) -> None:
        self._wait(self.loop.call_later(SECONDS, self._late, self._unread()))

    def _wait(self, timer: asyncio.TimerHandle | None = None) -> None:
        """Take a place among those who wait, or keep it; the timer is that of a head."""
        if (old := self.waiting.get(self)) is not None:
            old.cancel()
        self.waiting[self] = timer
        if len(self.waiting) > self.most:
            first = next(iter(self.waiting))
            first._leave()
            first.transport.abort()

    def _late(self, unread: int) -> None:
        """Go on with a reader who has read since; end anybody else."""
        if 0 < self._unread() < unread:
            self._wait_with_timer()
        else:
            self.transport.abort()

    def _leave(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def _unread(self) -> int:
        """Bytes of answers that the other side did not read yet, beyond what its system has."""
        return self.transport.get_write_buffer_size()


def bounded_protocol(most: int) -> type:
    """The protocol of uvicorn, of httptools if that is installed, with bounded connections."""
    base = optional.uvicorn_protocols_http_auto.AutoHTTPProtocol
    return type("BoundedProtocol", (Bounded, base), {"waiting": {}, "most": most})
