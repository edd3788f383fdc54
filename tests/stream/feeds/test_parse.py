"""Reading feeds: plain text, dates that mean one moment, ids that last, no harm done."""

import gzip
import json
import tarfile
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream.feeds.dates import read_date
from stream.feeds.parse import parse
from stream.feeds.plain import plain_text

NOW = datetime(2026, 11, 2, 6, tzinfo=UTC)
BASE = "https://news.example/feeds/all.xml"
TYPE = "application/rss+xml"


def read(body, content_type=TYPE, feed=BASE):
    body = body.encode() if isinstance(body, str) else body
    return parse(body, feed=feed, base=BASE, content_type=content_type, now=NOW)


def rss(*items, head=""):
    inner = "".join(f"<item>{item}</item>" for item in items)
    return f'{head}<rss version="2.0"><channel><title>News</title>{inner}</channel></rss>'


def test_markup_becomes_text_and_scripts_are_dropped():
    entry = read(
        rss(
            "<title>Dredging &amp;amp; silt</title><description>&lt;p&gt;One &lt;b&gt;two&lt;/b&gt;"
            "&lt;/p&gt;&lt;script&gt;steal()&lt;/script&gt;&lt;p&gt;caf&amp;eacute;&lt;/p&gt;</description>"
        )
    ).entries[0]
    assert entry.title == "Dredging & silt"
    assert entry.text == "One two\ncafé"


def test_atom_is_read_with_its_base_and_its_content():
    entry = read(
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><entry xml:base="/2026/">'
        '<id>tag:1</id><title type="text">a &lt;b&gt; c</title><link href="one.html"/>'
        "<updated>2026-11-01T10:00:00+01:00</updated><author><name>Ann</name></author>"
        '<summary>short</summary><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">'
        "<p>The whole text</p></div></content></entry></feed>",
        "application/atom+xml",
    ).entries[0]
    assert entry.title == "a <b> c"
    assert entry.text == "The whole text"
    assert entry.url == "https://news.example/2026/one.html"
    assert entry.date.moment == datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert entry.author == "Ann"


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("../a.html", "https://news.example/a.html"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("javascript:alert(1)", ""),
        ("http://[bad", ""),
        ("", ""),
    ],
)
def test_a_link_is_resolved_or_left_out(link, url):
    assert read(rss(f"<title>x</title><link>{link}</link>")).entries[0].url == url


def test_a_guid_used_twice_with_two_links_is_two_documents():
    parsed = read(
        rss(
            "<guid>1</guid><link>/a</link><title>a</title>",
            "<guid>1</guid><link>/b</link><title>b</title>",
            "<guid>2</guid><link>/c</link><title>c</title>",
        )
    )
    assert [entry.shared for entry in parsed.entries] == [True, True, False]
    assert len({entry.paired_id for entry in parsed.entries}) == 3


def test_a_guid_used_twice_with_one_link_is_one_document_the_latest():
    parsed = read(
        rss(
            "<guid>1</guid><link>/a</link><title>old</title><pubDate>1 Nov 2026</pubDate>",
            "<guid>1</guid><link>/a</link><title>new</title><pubDate>2 Nov 2026</pubDate>",
            "<guid>1</guid><link>/a</link><title>undated</title>",
        )
    )
    assert [entry.title for entry in parsed.entries] == ["new"]
    assert (parsed.found, parsed.repeated) == (3, 2)


def test_an_id_lasts_when_the_text_changes_and_differs_between_feeds():
    one = read(rss("<guid>g</guid><title>a</title>")).entries[0]
    edited = read(rss("<guid>g</guid><title>b</title>")).entries[0]
    elsewhere = read(rss("<guid>g</guid><title>a</title>"), feed="https://other.example/").entries[
        0
    ]
    assert one.guid_id == edited.guid_id != elsewhere.guid_id


def test_an_entry_without_a_guid_is_known_by_its_link_else_its_title():
    ids = {
        read(rss(item)).entries[0].guid_id
        for item in (
            "<link>/a</link><title>x</title>",
            "<link>/a</link><title>y</title>",
            "<title>y</title>",
        )
    }
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("Mon, 25 Jun 2018 10:30:00 +0200", datetime(2018, 6, 25, 8, 30, tzinfo=UTC)),
        ("Mo, 25 Jun 2018", datetime(2018, 6, 25, tzinfo=UTC)),
        ("25. Dezember 2018 10:00 MEZ", datetime(2018, 12, 25, 9, tzinfo=UTC)),
        ("Thu, 01 Jan 04 19:48:21 GMT", datetime(2004, 1, 1, 19, 48, 21, tzinfo=UTC)),
        ("Thu, 05 Mar 2026 23:59:60 EST", datetime(2026, 3, 6, 4, 59, 59, tzinfo=UTC)),
        ("2026-02-28T09:30:00Z", datetime(2026, 2, 28, 9, 30, tzinfo=UTC)),
        ("2026-02-28", datetime(2026, 2, 28, tzinfo=UTC)),
    ],
)
def test_a_date_that_means_one_moment_is_read(written, moment):
    found = read_date(written, NOW)
    assert (found.moment, found.problem, found.zone_assumed) == (moment, None, False)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("03/04/2018", "ambiguous"),
        ("3.4.2018", "ambiguous"),
        ("yesterday", "ambiguous"),
        ("5 jui 2018", "ambiguous"),
        ("25 Jun 2018 10:00 IST", "ambiguous"),
        ("31 Feb 2018", "impossible"),
        ("2018-02-30", "impossible"),
        ("25 Jun 2018 25:00 GMT", "impossible"),
        ("25 Jun 2018 10:00 +9900", "impossible"),
        ("Fri, 01 Jan 2099 00:00:00 GMT", "impossible"),
        ("0001-01-01T00:00:00+14:00", "impossible"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "impossible"),
        ("x" * 500, "no date"),
    ],
)
def test_a_date_that_does_not_is_left_out_with_the_reason(written, why):
    found = read_date(written, NOW)
    assert found.moment is None
    assert why in str(found.problem)


def test_a_time_without_a_zone_is_taken_as_utc_and_marked():
    found = read_date("25 Jun 2018 10:00", NOW)
    assert found.moment == datetime(2018, 6, 25, 10, tzinfo=UTC)
    assert found.zone_assumed


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading_of_dates(text):
    read_date(text, NOW)


def bomb(separator):
    declared = separator.join(
        ['<!ENTITY a0 "lollollol">']
        + [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)]
    )
    return f"<!DOCTYPE r [{separator}{declared}{separator}]>"


ITEM = rss("<guid>1</guid><title>&a9;</title>")


@pytest.mark.parametrize(
    "head",
    [
        '<?xml version="1.0"?>\n' + bomb("\n"),
        '<?xml version="1.0"?>' + bomb(""),
        '<?xml version="1.0"?><!-- <a -->' + bomb(""),
        '<?xml version="1.0"?>\n<!-- \n<!DOCTYPE --> <!-- <a> -->' + bomb(""),
        '<!DOCTYPE r [<!ENTITY a9 "%s">]>' % ("A" * 1000),
        '<!DOCTYPE r [<!ENTITY a9 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://127.0.0.1:1/"> %p;]>',
    ],
    ids=["lines", "one line", "after a tag", "comment trick", "long", "file", "parameter"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_never_expand_to_much(head, encoding):
    body = (head + ITEM.replace("&a9;", "&a9;" * 5000)).encode(encoding)
    started = time.process_time()
    parsed = read(body, None)
    assert time.process_time() - started < 5
    assert parsed.problem
    assert sum(len(entry.title) for entry in parsed.entries) <= 4000
    assert not any("root:" in entry.title for entry in parsed.entries)


def test_entities_that_are_plain_characters_are_resolved():
    declared = '<!DOCTYPE rss [<!ENTITY co "Harbour Works"><!ENTITY sq "&#179;">]>'
    entry = read(rss("<title>&co; m&sq;</title>", head=declared)).entries[0]
    assert entry.title == "Harbour Works m³"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  \n",
        b"<!DOCTYPE html><html><body>Not found</body></html>",
        b'{"a": 1}',
        b"\x00\xff\x00",
        b"\n" * 50_000 + b"<rss/>",
        b"<svg/>",
    ],
)
def test_what_is_no_feed_is_told_and_does_not_raise(body):
    assert not read(body, "text/html").is_feed


@pytest.mark.parametrize(
    "piece", ["<a ", '<a x="', "<!--", "</script", "<script>", "&#", "<a \"><a '>"]
)
def test_stripping_takes_time_in_proportion_to_the_markup(piece):
    started = time.process_time()
    plain_text(piece * 50_000)
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("3 < 4 &amp;&nbsp;5", "3 < 4 & 5"),
        ('<img alt="a > b">z', "z"),
        ("a<SCRIPT>x</p></ScRiPt >b", "ab"),
        ("a<!-- x > -->b<br/>c", "ab\nc"),
        ('<a href="x>lost">kept</a>', "kept"),
        ('<a href="open>still here', "still here"),
        ("a<script>never closed", "a"),
        ("&lt;script&gt;", "<script>"),
        ("a\x00b\ud800", "a\ufffdb\ufffd"),
    ],
)
def test_stripping_leaves_what_a_reader_sees(markup, text):
    assert plain_text(markup) == text


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading(body):
    read(b"<rss><channel><item>" + body)


def test_real_feeds_come_out_as_the_manifest_says(corpora):
    """All 2,107, malformed ones among them, as feedparser itself reads them: nothing is hidden."""
    name = corpora / "feeds_wellformed_illformed"
    with gzip.open(f"{name}.manifest.jsonl.gz") as lines:
        expected = {row["file"]: row["feedparser_6"] for row in map(json.loads, lines)}
    differing = {}
    with tarfile.open(f"{name}.tar.gz") as archive:
        for member in archive:
            if not member.isfile() or member.name not in expected:
                continue
            parsed = read(archive.extractfile(member).read(), None)
            told = {
                "bozo": bool(parsed.problem),
                "n_entries": parsed.found,
                "version": parsed.version,
                "encoding": parsed.encoding,
                "exc": parsed.problem.partition(":")[0] or None,
            }
            if told != expected.pop(member.name):
                differing[member.name] = told
            assert all(len(entry.guid_id) == len("feed-") + 32 for entry in parsed.entries)
    assert differing == {}
    assert expected == {}
