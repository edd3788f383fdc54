"""The HTTP server: uvicorn in a thread of its own, with an honest start and a clean stop."""

import errno
import socket
import threading

import uvicorn
from starlette.types import ASGIApp

from query.errors import QueryError
from query.service.patience import patient


class ServerError(QueryError):
    """The service cannot listen, or did not start."""

    code = "server_error"


class ServerThread:
    """Serves an application until ``stop``; start and stop it once.

    ``forwarded`` names the proxies (addresses, comma separated) whose ``X-Forwarded-For`` is
    believed; "" believes nobody. ``head_seconds`` bounds the time in which the head of a request
    must have arrived.
    """

    def __init__(
        self,
        app: ASGIApp,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        forwarded: str = "",
        grace_seconds: int = 3,
        head_seconds: float = 10.0,
    ) -> None:
        self._host = host
        self._port = port
        self._grace = grace_seconds
        self._server = _Server(
            uvicorn.Config(
                app,
                http=patient(head_seconds),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(forwarded),
                forwarded_allow_ips=forwarded or None,
                timeout_keep_alive=15,
                timeout_graceful_shutdown=grace_seconds,
                lifespan="on",
            )
        )
        self._thread: threading.Thread | None = None

    def start(self) -> int:
        """Listen and serve; return the port (a free one where 0 was asked for).

        Raises:
            ServerError: the address cannot be listened on, or the application did not start.
        """
        listener = _listen(self._host, self._port)
        port = int(listener.getsockname()[1])
        self._thread = threading.Thread(
            target=self._run, args=(listener,), name="http", daemon=True
        )
        self._thread.start()
        self._server.settled.wait()
        if not self._server.started:
            self._thread.join()
            raise ServerError("The service did not start; its log says why.")
        return port

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server has ended; whether it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Take no more requests, let those under way end within the grace, and end."""
        self._server.should_exit = True
        if not self.wait(self._grace + 2):
            self._server.force_exit = True
            self.wait(2)

    def _run(self, listener: socket.socket) -> None:
        try:
            self._server.run(sockets=[listener])
        except SystemExit:
            pass  # how uvicorn says that the application did not start; ``start`` tells
        finally:
            listener.close()
            self._server.settled.set()


class _Server(uvicorn.Server):
    """Tells when it has started, or that it will not."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm only on sockets that name their protocol; with it, each
    # answer on a kept connection waits some 40 ms for the client's delayed acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ServerError(_why(host, port, error)) from error
    return listener


def _why(host: str, port: int, error: Exception) -> str:
    code = getattr(error, "errno", None)
    if code == errno.EADDRINUSE:
        return f"Port {port} on {host} is in use: choose another port, or end what holds it."
    if code == errno.EACCES:
        return f"Port {port} on {host} needs more rights: choose one above 1023."
    return f"Cannot listen on {host}, port {port}: {error}."
