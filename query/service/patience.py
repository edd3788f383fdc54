"""Bounds on how long a connection may take to say what it wants, and at what length.

uvicorn bounds idle connections after an answer, but waits for the head of a request for ever, and
each byte begins its waiting anew. Its protocol over httptools, which takes a fifth of the time of
the one in Python alone, takes heads of any length too.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LONGEST_HEAD = 64 * 1024
"""Bytes received without a whole head among them, beyond which a connection is closed."""


class _PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose timer runs from the first moment of waiting, whatever trickles in."""

    head_seconds: float
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # as asyncio gives it
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answers():
            self._rest()  # its body has a bound of its own, at the edge
            self._head_bytes = 0
            return
        self._wait()
        self._head_bytes += len(data)
        if self._head_bytes > LONGEST_HEAD:
            self.send_400_response("The head of the request is too long.")

    def _answers(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def patient(seconds: float) -> type[asyncio.Protocol]:
    """A protocol that closes a connection whose request's head takes longer than ``seconds``."""
    return type("PatientProtocol", (_PatientProtocol,), {"head_seconds": seconds})
