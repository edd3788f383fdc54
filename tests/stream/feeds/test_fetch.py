"""Fetching: within limits, whatever the server does."""

import gzip
import time
import zlib
from datetime import UTC, datetime

import pytest

from stream.errors import FeedError
from stream.feeds.addresses import checked_url, is_public
from stream.feeds.fetch import Fetcher, FetchLimits, Validators, retry_after
from tests.stream.feeds import servers
from tests.stream.feeds.servers import page, redirect, served

NOW = datetime(2026, 11, 2, 6, tzinfo=UTC)
LIMITS = FetchLimits(100_000, total_seconds=0.6, wait_seconds=0.3, redirects=3, allow_private=True)
NOTHING = Validators()


def fetcher(limits=LIMITS, **more):
    return Fetcher(limits, clock=time.monotonic, now=lambda: NOW, agent="test/1", **more)


@pytest.fixture(scope="module")
def server():
    with served({}) as made:
        made.pages.update(
            {
                "/plain": page(b"<rss/>", Content_Type="application/rss+xml"),
                "/gzip": page(gzip.compress(b"<rss/>"), Content_Encoding="gzip"),
                "/deflate": page(zlib.compress(b"<rss/>"), Content_Encoding="deflate"),
                "/cut": page(gzip.compress(b"<rss/>" * 99)[:-12], Content_Encoding="gzip"),
                "/not-gzip": page(b"<rss/>", Content_Encoding="gzip"),
                "/twice": page(b"<rss/>", Content_Encoding="gzip, gzip"),
                "/known": servers.with_validators(b"<rss/>"),
                "/moved": redirect("plain", 301),
                "/hop": redirect("/moved"),
                "/circle": redirect("/back"),
                "/back": redirect("/circle"),
                "/to-file": redirect("file:///etc/passwd"),
                "/to-nothing": redirect("http://"),
                "/to-private": redirect("http://169.254.169.254/latest/meta-data"),
                "/endless": servers.endless,
                "/drip": servers.dripping,
                "/drip-headers": servers.dripping_headers,
                "/silent": servers.silent,
                "/bomb": servers.bomb(20_000_000),
                "/large": page(b"x" * 100_001),
                "/500": page(b"", status=500),
                "/503": page(b"", status=503, Retry_After="120"),
                "/304": page(b"", status=304),
                **{f"/far{n}": redirect(f"/far{n + 1}") for n in range(9)},
            }
        )
        yield made


@pytest.mark.parametrize("path", ["/plain", "/gzip", "/deflate", "/moved", "/hop"])
def test_a_feed_is_fetched_through_encodings_and_redirects(server, path):
    fetched = fetcher().fetch(server.url + path, NOTHING)
    assert fetched.body == b"<rss/>"
    if path in ("/moved", "/hop"):
        assert fetched.url == server.url + "/plain"
        assert fetched.content_type == "application/rss+xml"


def test_what_is_unchanged_is_not_sent_again(server):
    first = fetcher().fetch(server.url + "/known", NOTHING)
    again = fetcher().fetch(server.url + "/known", first.validators)
    assert first.body == b"<rss/>"
    assert again.body is None
    assert again.validators == first.validators


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/endless", "larger than 100,000"),
        ("/bomb", "larger than 100,000"),
        ("/large", "larger than 100,000"),
        ("/drip", "0.6 seconds|too slow"),
        ("/drip-headers", "too slow"),
        ("/silent", "too slow"),
        ("/circle", "circle"),
        ("/far0", "more than 3 times"),
        ("/to-file", "http://"),
        ("/to-nothing", "http"),
        ("/500", "status 500"),
        ("/304", "status 304"),
        ("/none", "status 404"),
        ("/cut", "middle of its gzip"),
        ("/not-gzip", "not gzip"),
        ("/twice", "not asked for"),
    ],
)
def test_a_bad_server_is_an_error_that_says_how(server, path, said):
    started = time.monotonic()
    with pytest.raises(FeedError, match=said):
        fetcher().fetch(server.url + path, NOTHING)
    assert time.monotonic() - started < 10


def test_a_server_may_say_when_to_come_back(server):
    with pytest.raises(FeedError) as failed:
        fetcher().fetch(server.url + "/503", NOTHING)
    assert failed.value.retry_after == 120


def test_loopback_is_refused_unless_it_is_allowed(server):
    server.seen.clear()
    with pytest.raises(FeedError, match="private address"):
        fetcher(FetchLimits()).fetch(server.url + "/plain", NOTHING)
    assert server.seen == []


def test_a_name_is_judged_by_the_address_that_is_connected_to(server):
    """A resolver that says public first and loopback later finds the door closed each time."""
    said = iter([["127.0.0.1"], ["::1", "10.0.0.1"], ["::ffff:127.0.0.1"]])
    strict = fetcher(FetchLimits(), resolve=lambda _host, _port: next(said))
    for _ in range(3):
        with pytest.raises(FeedError, match="private address"):
            strict.fetch(f"http://feeds.example:{server.server_port}/plain", NOTHING)


def test_a_redirect_to_an_internal_address_is_refused(server, monkeypatch):
    """The first hop is let through as if it were public, the second is looked at like any."""
    monkeypatch.setattr(
        "stream.feeds.addresses.is_public", lambda ip: ip == "127.0.0.1" or is_public(ip)
    )
    with pytest.raises(FeedError, match=r"169\.254\.169\.254 is a private address"):
        fetcher(FetchLimits()).fetch(server.url + "/to-private", NOTHING)


def test_nothing_that_listens_is_an_error_in_one_line():
    with pytest.raises(FeedError, match="cannot be read"):
        fetcher().fetch("http://127.0.0.1:1/feed", NOTHING)


@pytest.mark.parametrize(
    "address",
    [
        "ftp://a/x",
        "file:///etc/passwd",
        "a/b",
        "",
        "http://",
        "http://u:p@a/",
        "http://[::1/",
        "http://a:99999999/",
    ],
)
def test_only_addresses_of_the_web_are_taken(address):
    with pytest.raises(FeedError):
        checked_url(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.1.1",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104  an address to refuse
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::127.0.0.1",
        "nonsense",
    ],
)
def test_an_address_that_is_not_public_is_known_in_every_spelling(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_a_public_address_is_let_through(address):
    assert is_public(address)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120), ("Mon, 02 Nov 2026 06:01:00 GMT", 60), ("Mon, 02 Nov 2020 06:00:00 GMT", 0),
     ("soon", None), ("-5", None), (None, None), ("9" * 40, 999999999)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_a_date(header, seconds):
    assert retry_after(header, NOW) == seconds
