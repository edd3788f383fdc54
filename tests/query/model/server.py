"""A scripted model on loopback: a web server that speaks /v1/chat/completions."""

import json
import re
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler

from query.model.client import ModelClient, ModelSettings
from tests.loopback import loopback

STAGES = {
    "You prepare": "refine", "You judge": "test", "You collect": "map", "You answer": "answer",
    "You compare": "judge", "You make": "make",
}  # fmt: skip


class Call:
    """One request as the script sees it."""

    def __init__(self, body):
        self.body = body
        self.system, self.user = (message["content"] for message in body["messages"])
        self.stage = next(stage for words, stage in STAGES.items() if words in self.system)
        self.form = body.get("response_format", {}).get("type", "plain")

    @property
    def schema(self):
        return self.body["response_format"]["json_schema"]["schema"]

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
    if call.stage == "map":
        told = [(int(n), text) for c in call.quoted for n, text in c["sentences"].items()]
        points = [
            {"text": text, "score": 0.9, "sentences": [n]} for n, text in told if word in text
        ]
        return {"points": points}
    verdicts = []
    for chunk in call.quoted:
        yes = [int(n) for n, text in chunk["sentences"].items() if word in text]
        verdicts.append({"chunk": chunk["chunk"], "score": 0.9 if yes else 0.1, "sentences": yes})
    return {"verdicts": verdicts}


class StatusError(Exception):
    """What a script raises to answer with a status, and perhaps words."""


class Endless:
    """What a script returns for a body that does not end."""

    def __init__(self, piece, pause=0.0):
        self.piece, self.pause = piece, pause


def completion(content, **message):
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": content, **message},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }  # fmt: skip


def streamed(content, usage):
    """The events of a streamed reply: three pieces, then perhaps the tokens."""
    third = len(content) // 3 + 1
    for at in range(0, len(content), third):
        delta = {"index": 0, "finish_reason": None, "delta": {"content": content[at : at + third]}}
        yield {"object": "chat.completion.chunk", "choices": [delta]}
    yield {"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}]}
    if usage:
        yield {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3}}


def page_of(said, body):
    """Kind and bytes of what a script said; text and plain objects are streamed."""
    if isinstance(said, bytes):
        return "text/html", said
    if isinstance(said, dict) and ("choices" in said or "error" in said):
        return "application/json", json.dumps(said).encode()
    content = said if isinstance(said, str) else json.dumps(said)
    events = streamed(content, body.get("stream_options"))
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()


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
            except StatusError as wrong:
                status, words = (*wrong.args, "no")[:2]
                said = {"error": {"message": words}}
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0.01")
            with suppress(OSError):
                self.send_endless(said) if isinstance(said, Endless) else self.send_page(said, body)

        def send_page(self, said, body):
            kind, page = page_of(said, body)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def send_endless(self, said):
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            while True:
                self.wfile.write(said.piece)
                time.sleep(said.pause)

        def log_message(self, *_):
            pass

    with loopback(Handler) as server:
        yield f"{server.url}/v1", calls


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
