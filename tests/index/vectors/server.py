"""A scripted Qdrant on loopback: the REST calls that we make, answered by the local mode.

Not kinder than the real one where it matters here: it wants its key, and it can be told to refuse,
to hang, to break and to talk nonsense.
"""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from qdrant_client import QdrantClient, models


class ScriptedQdrant(ThreadingHTTPServer):
    """``behave`` is "well", "500", "garbage", "wrong shape", "hang", "empty" or "cut"."""

    daemon_threads = True

    def __init__(self, port: int = 0, key: str = "", context=None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.key = key
        self.behave = "well"
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.indexed: dict[str, str] = {}
        self.local = QdrantClient(":memory:")
        self.lock = threading.Lock()

    def handle_error(self, request, client_address) -> None:
        """A client that hung up is no news."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving(port: int = 0, key: str = "", context=None):
    server = ScriptedQdrant(port, key, context)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedQdrant

    def log_message(self, *args) -> None:
        """Nothing on stderr."""

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        self.server.keys.append(self.headers.get("api-key"))
        self.server.paths.append(f"{self.command} {self.path}")
        if self.server.key and self.headers.get("api-key") != self.server.key:
            self._send(401, b"Must provide an API key or an Authorization bearer token")
            return
        behave = self.server.behave
        if behave == "hang":
            time.sleep(1.5)
        if behave == "cut":
            self.close_connection = True
            return
        odd = {
            "500": (500, b'{"status":{"error":"Service internal error"},"time":0}'),
            "garbage": (200, b"<html>It works!</html>"),
            "wrong shape": (200, b'{"result":{"points":[{"ident":1}]},"status":"ok","time":0}'),
            "empty": (200, b'{"result":null,"status":"ok","time":0}'),
        }
        if behave in odd:
            self._send(*odd[behave])
            return
        with self.server.lock:
            status, result = self._result(self.path.split("?")[0].strip("/").split("/"), body)
        wrapped = {"result": result, "status": "ok", "time": 0.0}
        self._send(status, json.dumps(wrapped).encode())

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  the library's names

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _result(self, path: list[str], body):
        local, name, rest = self.server.local, path[1], "/".join([self.command, *path[2:]])
        if rest == "GET/exists":
            return 200, {"exists": local.collection_exists(name)}
        if rest == "PUT":
            size = models.VectorParams(**body["vectors"]["chunk"])
            return 200, local.create_collection(name, vectors_config={"chunk": size})
        if not local.collection_exists(name):
            return 404, None
        if rest == "DELETE":
            return 200, local.delete_collection(name)
        return 200, self._points(rest, local, name, body)

    def _points(self, rest: str, local: QdrantClient, name: str, body):
        where = models.Filter(**body["filter"]) if body.get("filter") else None
        calls = {
            "PUT/index": lambda: self._indexed(body),
            "PUT/points": lambda: self._upsert(local, name, body),
            "POST/points/delete": lambda: local.delete(
                name, models.PointIdsList(points=body["points"])
            ).model_dump(),
            "POST/points/count": lambda: {"count": local.count(name, where).count},
            "POST/points/scroll": lambda: self._page(local, name, where, body),
            "POST/points/query": lambda: {"points": [
                point.model_dump() for point in local.query_points(
                    name, body["query"]["nearest"], using=body["using"], query_filter=where,
                    limit=body["limit"]).points]},
            "POST/points": lambda: [
                record.model_dump() for record in local.retrieve(
                    name, body["ids"], with_vectors=bool(body.get("with_vector")))],
        }  # fmt: skip
        return calls[rest]()

    def _indexed(self, body):
        self.server.indexed[body["field_name"]] = body["field_schema"]
        return {"operation_id": 0, "status": "completed"}

    @staticmethod
    def _page(local: QdrantClient, name: str, where, body):
        page, after = local.scroll(name, where, limit=body["limit"], offset=body.get("offset"))
        return {"points": [point.model_dump() for point in page], "next_page_offset": after}

    @staticmethod
    def _upsert(local: QdrantClient, name: str, body) -> None:
        if "batch" in body:
            done = local.upsert(name, models.Batch(**body["batch"]))
        else:
            done = local.upsert(name, [models.PointStruct(**point) for point in body["points"]])
        return done.model_dump()
