"""A network line between clients and a broker that is slow, and breaks."""

import contextlib
import socket
import threading
import time

_PIECE = 2048


class Line:
    """Passes bytes on, so many a second and each piece late; breaks a connection after some.

    Args:
        near: the port that clients connect to.
        far: the port of the broker.
        delay: seconds that each piece takes.
        rate: bytes a second, of each connection and way.
        breaks: after how many bytes the next connections break, in turn; the rest hold.
    """

    def __init__(self, near, far, *, delay, rate, breaks=()):
        self._far, self._delay, self._rate, self._breaks = far, delay, rate, list(breaks)
        self.broken = 0
        self._threads, self._open = [], []
        self._listening = socket.create_server(("127.0.0.1", near))
        self._begin(self._accept)

    def _begin(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments)
        thread.start()
        self._threads.append(thread)

    def _accept(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            broker = socket.create_connection(("127.0.0.1", self._far))
            self._open += [client, broker]
            bytes_left = self._breaks.pop(0) if self._breaks else None
            self._begin(self._pass, client, broker, None)
            self._begin(self._pass, broker, client, bytes_left)

    def _pass(self, come, go, bytes_left):
        with contextlib.suppress(OSError):
            while piece := come.recv(_PIECE):
                time.sleep(self._delay + len(piece) / self._rate)
                if bytes_left is not None and len(piece) > bytes_left:
                    self.broken += 1
                    break
                go.sendall(piece)
                bytes_left = None if bytes_left is None else bytes_left - len(piece)
        for end in (come, go):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join()
