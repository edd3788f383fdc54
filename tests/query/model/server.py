"""A scripted model on loopback: a web server that speaks /v1/chat/completions."""

import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from query.model.client import ModelClient, ModelSettings

NAMES = {"refinement": "refine", "ratings": "test", "sentences": "answer"}


class Call:
    """One request as the script sees it."""

    def __init__(self, body):
        self.body = body
        self.system, self.user = (message["content"] for message in body["messages"])
        schema = body["response_format"]["json_schema"]
        self.stage, self.schema, self.strict = (
            NAMES[schema["name"]],
            schema["schema"],
            schema["strict"],
        )

    @property
    def quoted(self):
        found = re.search(r"<quoted>\n(.*)\n</quoted>$", self.user, re.DOTALL)
        return json.loads(found.group(1))


def good(call, word="strike"):
    """A model that understands: chunks with a word in them are relevant."""
    if call.stage == "refine":
        return {
            "subqueries": [
                "Which wages did dockers accept?",
                "Who leads it?",
                "When did the strike end?",
            ],
            "expanded": "Which wages did the dockers accept, who leads them, and when did it end?",
        }
    if call.stage == "answer":
        return {"sentences": [{"text": "They accepted.", "claims": [1]}]}
    verdicts = []
    for chunk in call.quoted:
        yes = [int(n) for n, text in chunk["sentences"].items() if word in text]
        verdicts.append({"chunk": chunk["chunk"], "score": 0.9 if yes else 0.1, "sentences": yes})
    return {"verdicts": verdicts}


class StatusError(Exception):
    """What a script raises to answer with a status."""


def completion(content, **message):
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": content, **message},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }  # fmt: skip


@contextmanager
def served(script):
    """A server; ``script(call)`` returns an object, text or body, or raises ``StatusError``."""
    calls = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            call = Call(body)
            calls.append(call)
            status = 200
            try:
                said = script(call)
                if isinstance(said, str):
                    said = completion(said)
                elif isinstance(said, dict) and "choices" not in said:
                    said = completion(json.dumps(said))
            except StatusError as wrong:
                status, said = wrong.args[0], {"error": {"message": "no"}}
            page = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            kind = "text/html" if isinstance(said, bytes) else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(page)))
            if status == 429:
                self.send_header("Retry-After", "0.01")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def model(script, **more):
    """A client of a scripted server, and the calls that the server has seen."""
    with served(script) as (url, calls):
        settings = ModelSettings("scripted", url, "key", **{"retries": 0, "timeout": 10.0, **more})
        client = ModelClient(settings)
        try:
            yield client, calls
        finally:
            client.close()


def slowly(seconds):
    def script(call):
        time.sleep(seconds)
        return good(call)

    return script
