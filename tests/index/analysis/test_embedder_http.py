"""Vectors by a scripted server on loopback that speaks /v1/embeddings."""

import json
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest

from index.analysis.analyzer import Analyzer
from index.analysis.embedder import make_embedder
from index.analysis.embedder_http import HttpEmbedder
from index.analysis.pool import AnalysisPool
from index.analysis.settings import AnalyzerSettings, EmbedderSettings
from index.errors import EmbedderAwayError, EmbedderError
from tests.index.analysis.documents import document
from tests.loopback import loopback

DIMENSIONS = 4


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def vector(text):
    return [float(len(text)), 1.0, 0.0, -2.0]


def rows(texts, of=vector):
    """Good data, last row first: the order is the index's."""
    data = [{"object": "embedding", "index": n, "embedding": of(t)} for n, t in enumerate(texts)]
    return {"object": "list", "model": "m", "data": data[::-1]}


@contextmanager
def served(script):
    """A server; ``script(texts)`` returns a status, bytes or a body."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            said = script(body["input"])
            status = said if isinstance(said, int) else 200
            page = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(page)))
            if status == 429:
                self.send_header("Retry-After", "0.01")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_):
            pass

    with loopback(Handler) as server:
        yield f"{server.url}/v1", asked


@contextmanager
def embedder(script, **more):
    with served(script) as (url, asked):
        settings = {"dimensions": DIMENSIONS, "retries": 0, "timeout": 5.0, **more}
        yield HttpEmbedder(EmbedderSettings("m", url, "sesame", **settings)), asked


def test_rows_are_of_unit_length_and_in_order():
    texts = ["a", "bb", "", "a longer text"]
    with embedder(rows, batch=2) as (found, asked):
        vectors = found.embed(texts)
    assert vectors.dtype == np.float32
    for at in (0, 1, 3):
        expected = np.array(vector(texts[at])) / np.linalg.norm(vector(texts[at]))
        assert np.allclose(vectors[at], expected)
    assert not vectors[2].any()
    assert [body["input"] for body in asked] == [["a", "bb"], ["a longer text"]]


def test_a_text_has_the_same_vector_in_any_batch():
    texts = [f"text {'x' * n}" for n in range(7)]
    with embedder(rows, batch=3) as (found, _):
        assert np.array_equal(found.embed(texts), np.vstack([found.embed([t]) for t in texts]))


def test_the_dimensions_are_asked_for_once_where_they_are_not_set():
    with embedder(rows, dimensions=0) as (found, asked):
        assert found.dimensions == DIMENSIONS
        assert len(asked) == 1


def test_nothing_is_asked_where_the_dimensions_are_set_or_no_text_is_given():
    with embedder(rows) as (found, asked):
        assert found.embed([]).shape == (0, DIMENSIONS)
        assert asked == []


def test_a_batch_that_is_refused_is_halved_and_a_text_that_is_refused_gets_zeros():
    def script(texts):
        return 400 if len(texts) > 2 or "long" in texts else rows(texts)

    with embedder(script, batch=8) as (found, _):
        vectors = found.embed(["a", "b", "long", "c", "d"])
    assert [bool(row.any()) for row in vectors] == [True, True, False, True, True]


GARBAGE = {
    "another dimension": lambda texts: rows(texts, lambda _: [1.0] * 5),
    "text": lambda texts: rows(texts, lambda _: ["x"] * 4),
    "no number": lambda texts: rows(texts, lambda _: [float("nan")] * 4),
    "infinite": lambda texts: rows(texts, lambda _: [1e300] * 4),
    "null": lambda texts: rows(texts, lambda _: None),
    "empty": lambda texts: rows(texts, lambda _: []),
    "too few": lambda texts: rows(texts[1:]),
    "one twice": lambda texts: {"data": [{"index": 0, "embedding": [1, 1, 1, 1]}] * len(texts)},
    "another object": lambda _: {"models": []},
    "a list": lambda _: [1, 2],
    "a web page": lambda _: b"<html>hello</html>",
    "nothing": lambda _: b"",
    "every text refused": lambda _: 400,
    "wrong key": lambda _: 401,
    "no such model": lambda _: 404,
}


@pytest.mark.parametrize("script", GARBAGE.values(), ids=GARBAGE)
def test_what_is_no_vector_is_refused_with_words_and_without_the_key(script):
    with embedder(script) as (found, _), pytest.raises(EmbedderError) as raised:
        found.embed(["one", "two"])
    assert not isinstance(raised.value, EmbedderAwayError)
    assert "m at http" in str(raised.value)
    assert "sesame" not in str(raised.value) + repr(found._settings)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_that_is_away_is_told_from_a_wrong_one(status):
    with embedder(lambda _: status) as (found, _), pytest.raises(EmbedderAwayError):
        found.embed(["one"])


def test_an_address_where_nothing_listens_is_away():
    settings = EmbedderSettings("m", "http://127.0.0.1:9/v1", dimensions=4, retries=0)
    with pytest.raises(EmbedderAwayError):
        HttpEmbedder(settings).embed(["one"])


def test_a_slow_server_is_away():
    def slow(texts):
        time.sleep(0.5)
        return rows(texts)

    with embedder(slow, timeout=0.1) as (found, _), pytest.raises(EmbedderAwayError):
        found.embed(["one"])


def test_a_429_is_waited_for():
    said = iter([429, rows(["one"])])
    with embedder(lambda _: next(said), retries=1) as (found, _):
        assert found.embed(["one"]).any()


def analyzer_settings(url):
    server = EmbedderSettings("m", url, dimensions=DIMENSIONS, retries=0)
    return AnalyzerSettings(embedder="openai", embedder_server=server)


def test_the_fingerprint_names_model_address_and_dimensions():
    with served(rows) as (url, _):
        analyzer = Analyzer(analyzer_settings(url))
        [analysis] = analyzer.analyze([document("The dockers of Cardiff struck.")])
    fingerprint = analyzer.fingerprint
    assert (fingerprint.embedder, fingerprint.dimensions) == (f"m at {url}", DIMENSIONS)
    assert len(analysis.chunks[0].vector) == 2 * DIMENSIONS


@pytest.mark.parametrize("workers", [0, 1])
def test_no_document_is_rejected_because_the_embedder_is_away(workers):
    with AnalysisPool(analyzer_settings("http://127.0.0.1:9/v1"), workers) as pool:
        future = pool.submit([document("The dockers of Cardiff struck.")])
        with pytest.raises(EmbedderAwayError):
            future.result(60)


def test_an_unknown_embedder_is_refused_by_name():
    with pytest.raises(ValueError, match="known: wordllama, openai"):
        make_embedder(replace(AnalyzerSettings(), embedder="magic"))
