"""What a feed's bytes say: a pure function, by feedparser, without trust in what it is given."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any
from urllib.parse import urljoin, urlsplit

import feedparser
import orjson

from stream.feeds.dates import FeedDate, read_date
from stream.feeds.defuse import defused, prolog_is_bounded, to_utf8
from stream.feeds.plain import folded, plain_text
from stream.text import clean_line

TITLE_CHARS = 4_000
TEXT_CHARS = 400_000
LINE_CHARS = 1_000
URL_CHARS = 4_000
"""Within the limits of ``stream.message``, whatever the script: a character has at most 4 bytes."""
MAX_ENTRIES = 5_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, as plain text.

    ``guid_id`` is the document id by the entry's GUID (else its link, title or text, the first
    that it has); ``paired_id`` the one by GUID and link together. ``shared`` says that another
    entry of this feed, of another link, has the same GUID. ``state.document_id`` chooses.
    """

    guid_id: str
    paired_id: str
    shared: bool
    title: str
    text: str
    url: str
    author: str
    date: FeedDate
    written_date: str


@dataclass(frozen=True, slots=True)
class ParsedFeed:
    """A feed as read. ``problem`` is why it is not well-formed, "" where it is; never an error.

    ``version`` is feedparser's name of the format, "" where the bytes are no feed.
    ``repeated`` counts entries that were left out because another has the same GUID and link.
    """

    version: str
    encoding: str
    title: str
    entries: tuple[Entry, ...]
    found: int
    repeated: int
    problem: str

    @property
    def is_feed(self) -> bool:
        """Whether this is a feed at all, however broken."""
        return bool(self.version or self.entries)


def parse(
    body: bytes, *, feed: str, base: str, content_type: str | None, now: datetime
) -> ParsedFeed:
    """Read a feed.

    Args:
        body: its bytes, decompressed.
        feed: the address that it is known by; ids are told apart by it.
        base: the address that it came from at last; relative links are resolved by it.
        content_type: the header of that name, None where there was none.
        now: what decides that a date lies ahead.

    A GUID that several entries of one feed have: entries that also share the link are one
    document, and the latest by date (the first, where dates do not tell) is kept; entries of
    different links are different documents.
    """
    if not body.strip():
        return ParsedFeed("", "", "", (), 0, 0, "the feed is empty")
    headers = {"content-type": content_type} if content_type else {}
    utf8, encoding, problem = to_utf8(body, headers)
    if not prolog_is_bounded(utf8):
        return ParsedFeed("", encoding, "", (), 0, 0, "no element near its beginning")
    try:
        told = _parsed(body, utf8, headers, base)
    except Exception as error:  # noqa: BLE001  the library lets slip what malformed markup provokes
        return ParsedFeed("", encoding, "", (), 0, 0, f"cannot be read: {_said(error)}")
    found = told.get("bozo_exception")
    if content_type is not None or not isinstance(found, feedparser.NonXMLContentType):
        problem = found or problem
    entries, repeated = _distinct(
        [_entry(raw, feed, base, now) for raw in told.entries[:MAX_ENTRIES]]
    )
    return ParsedFeed(
        version=told.get("version") or "",
        encoding=encoding,
        title=_line(told.feed, "title"),
        entries=tuple(entries),
        found=len(told.entries),
        repeated=repeated,
        problem="" if problem is None else _said(problem),
    )


def _parsed(body: bytes, utf8: bytes, headers: Mapping[str, str], base: str) -> Any:
    """What feedparser makes of it; markup is left as it is, since all of it goes."""
    safe = defused(utf8)
    if safe is not utf8:
        body, headers = safe, {"content-type": "application/xml; charset=utf-8"}
    return feedparser.parse(
        body,
        response_headers={**headers, "content-location": base},
        resolve_relative_uris=False,
        sanitize_html=False,
    )


def _said(error: object) -> str:
    return f"{type(error).__name__}: {clean_line(str(error))}"[:LINE_CHARS]


def _entry(raw: dict[str, Any], feed: str, base: str, now: datetime) -> Entry:
    title, text = _line(raw, "title"), _text(raw)
    url = _link(raw, base)
    guid = clean_line(_plain(raw, "id"))
    identity = next(
        ([kind, value] for kind, value in _names(guid, url, title) if value), ["text", text]
    )
    written = _plain(raw, "published") or _plain(raw, "updated")
    return Entry(
        guid_id=_id(feed, *identity),
        paired_id=_id(feed, "guid", guid, url) if guid else _id(feed, *identity),
        shared=False,
        title=title,
        text=text,
        url=url,
        author=clean_line(_plain(raw, "author"))[:LINE_CHARS],
        date=read_date(written, now),
        written_date=clean_line(written)[:100],
    )


def _names(guid: str, url: str, title: str) -> tuple[tuple[str, str], ...]:
    return ("guid", guid), ("link", url), ("title", title)


def _id(*parts: str) -> str:
    return "feed-" + blake2b(orjson.dumps(parts), digest_size=16).hexdigest()


def _plain(raw: dict[str, Any], name: str) -> str:
    """A value as it stands: ``dict.get``, since feedparser's own looks under other names too."""
    value = dict.get(raw, name)
    return _whole(value) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """Text without lone surrogates, which a character reference can make."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _line(raw: dict[str, Any], name: str) -> str:
    """A value of text, on one line, by the type that the feed says it has."""
    detail = raw.get(f"{name}_detail") or {}
    return " ".join(_shown(_plain(raw, name), detail.get("type")).split())[:TITLE_CHARS].strip()


def _shown(value: str, kind: str | None) -> str:
    return folded(value) if kind == "text/plain" else plain_text(value)


def _text(raw: dict[str, Any]) -> str:
    """The longest of content and summary: feeds put the whole text into either."""
    pieces = [
        _shown(_whole(piece.get("value") or ""), piece.get("type"))
        for piece in raw.get("content") or ()
        if (piece.get("type") or "text/html").startswith(("text/", "application/xhtml"))
    ]
    detail = raw.get("summary_detail") or {}
    pieces.append(_shown(_plain(raw, "summary"), detail.get("type")))
    return max(pieces, key=len)[:TEXT_CHARS]


def _link(raw: dict[str, Any], base: str) -> str:
    """The entry's page, resolved; "" for what is no page on the web."""
    try:
        url = urljoin(base, clean_line(_plain(raw, "link")))
        scheme = urlsplit(url).scheme
    except ValueError:
        return ""
    if not _plain(raw, "link") or scheme not in ("http", "https") or len(url) > URL_CHARS:
        return ""
    return url


def _distinct(entries: list[Entry]) -> tuple[list[Entry], int]:
    """One entry for each id of the pair, and how many were left out."""
    kept: dict[str, Entry] = {}
    for entry in entries:
        former = kept.get(entry.paired_id)
        if former is None or _later(entry, former):
            kept[entry.paired_id] = entry
    uses = Counter(entry.guid_id for entry in kept.values())
    chosen = [replace(entry, shared=uses[entry.guid_id] > 1) for entry in kept.values()]
    return chosen, len(entries) - len(chosen)


def _later(entry: Entry, former: Entry) -> bool:
    new, old = entry.date.moment, former.date.moment
    return new is not None and (old is None or new > old)
