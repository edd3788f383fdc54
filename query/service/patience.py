"""A bound on how long a connection may take to say what it wants.

uvicorn bounds idle connections after an answer, but waits for the head of a request for ever, and
each byte begins its waiting anew.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


def patient(seconds: float) -> type[asyncio.Protocol]:
    """A protocol that closes a connection whose request's head takes longer than ``seconds``."""

    class PatientProtocol(H11Protocol):
        """HTTP/1.1 whose timer runs from the first moment of waiting, whatever trickles in."""

        _timer: asyncio.TimerHandle | None = None

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
            else:
                self._wait()

        def _answers(self) -> bool:
            cycle: RequestResponseCycle | None = self.cycle
            return cycle is not None and not cycle.response_complete

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self.transport.close)

        def _rest(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return PatientProtocol
