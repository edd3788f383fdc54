"""Qdrant by HTTP: what goes over the wire, and what becomes of a server that misbehaves."""

import socket
import ssl
import subprocess
import time

import numpy as np
import pytest

from index.errors import VectorIndexError
from index.vectors.protocol import FIELDS, Condition
from index.vectors.qdrant import QdrantSettings, connected
from tests.index.vectors.indexes import mark, points
from tests.index.vectors.server import serving

KEY = "s3cret-key-of-a-test"


def client(server, **more):
    return connected(QdrantSettings(**({"url": server.url, "collection": "c"} | more)))


@pytest.fixture
def server():
    with serving() as made:
        yield made


@pytest.fixture
def index(server):
    made = client(server, timeout=10)
    made.reset(8)
    made.upsert(points(range(20)))
    made.put_mark(mark())
    yield made
    made.close()


def test_every_filter_has_a_payload_index(server, index):
    assert server.indexed == dict(FIELDS)


def test_what_was_written_is_found_by_http(server, index):
    made = points([7])
    hits = index.search(made.vectors[0], 3, Condition(source=("wire",), below=9))
    assert hits.slots[0] == 7
    assert max(hits.slots) < 9
    assert index.mark() == mark()
    assert index.count() == 20
    index.delete([7])
    assert 7 not in {one for page in index.ids() for one in page}
    assert index.read([8])[8][1]["document"] == "d8"


def test_the_key_is_sent_and_a_wrong_one_is_told_without_showing_it():
    with serving(key=KEY) as server:
        client(server, api_key=KEY).reset(8)
        assert set(server.keys) == {KEY}
        for wrong in ("", "another-secret"):
            with pytest.raises(VectorIndexError, match="API key") as caught:
                client(server, api_key=wrong).mark()
            assert "another-secret" not in str(caught.value)


@pytest.mark.parametrize("behave", ["500", "garbage", "wrong shape", "empty", "cut", "hang"])
def test_a_server_that_misbehaves_is_an_error_of_ours(server, index, behave):
    healthy = index
    server.behave = behave
    index = client(server, timeout=1, write_timeout=1)
    calls = (
        index.mark,
        index.count,
        lambda: index.search(np.ones(8, np.float32), 3, Condition()),
        lambda: index.upsert(points([1])),
        lambda: index.put_mark(mark()),
        lambda: index.delete([1]),
        lambda: index.read([1]),
        lambda: list(index.ids()),
        lambda: index.reset(8),
    )
    for call in calls[::3] if behave == "hang" else calls:
        started = time.monotonic()
        with pytest.raises(VectorIndexError):
            call()
        assert time.monotonic() - started < 5
    index.close()
    server.behave = "well"
    assert healthy.mark() == mark()


def test_nothing_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    index = connected(QdrantSettings(f"http://127.0.0.1:{port}", "c"))
    with pytest.raises(VectorIndexError, match="refused"):
        index.mark()


def test_a_server_that_accepts_and_says_nothing_costs_the_timeout_alone():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        index = connected(QdrantSettings(f"http://127.0.0.1:{port}", "c", timeout=1))
        started = time.monotonic()
        with pytest.raises(VectorIndexError, match="timed out"):
            index.search(np.ones(8, np.float32), 1, Condition())
        assert time.monotonic() - started < 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    key, cert = directory / "key.pem", directory / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context


def test_tls_is_checked_against_the_certificates_that_are_named(certificate):
    cert, context = certificate
    with serving(key=KEY, context=context) as server:
        url = server.url.replace("http:", "https:")
        trusted = client(server, url=url, ca_file=cert, api_key=KEY)
        trusted.reset(8)
        assert trusted.count() == 0
        with pytest.raises(VectorIndexError, match=r"(?i)certificate"):
            client(server, url=url, api_key=KEY).mark()
        with pytest.raises(VectorIndexError):  # plain HTTP to a server that speaks TLS
            client(server, api_key=KEY).mark()


def test_certificates_that_are_none_are_told_at_once(tmp_path):
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    for path in (broken, tmp_path / "absent.pem"):
        with pytest.raises(VectorIndexError):
            connected(QdrantSettings("https://127.0.0.1:1", "c", ca_file=path))
