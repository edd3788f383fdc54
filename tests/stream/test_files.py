"""JSON Lines files as a source."""

import gzip
import json
import time

import pytest

from index.types import Reason, Rejected, Upsert
from stream.convert import transform
from stream.errors import SourceChangedError, SourceError
from stream.files import FileSource
from stream.message import decode
from tests.stream.conformance import (
    FakeTime,
    GrowingConformance,
    Harness,
    SourceConformance,
    drain,
)


class FileHarness(Harness):
    def __init__(self, path, *, follow=False, compress=False):
        self.path = path
        self.time = FakeTime()
        self.follow = follow
        self.compress = compress

    def publish(self, values):
        body = b"".join(value + b"\n" for value in values)
        with self.path.open("ab") as file:
            file.write(gzip.compress(body) if self.compress else body)

    def open(self):
        return FileSource(
            self.path, follow=self.follow, clock=self.time.clock, sleep=self.time.sleep
        )


class TestPlainConformance(SourceConformance):
    @pytest.fixture
    def harness(self, tmp_path):
        return FileHarness(tmp_path / "news.jsonl")


class TestCompressedConformance(SourceConformance):
    @pytest.fixture
    def harness(self, tmp_path):
        return FileHarness(tmp_path / "news.jsonl.gz", compress=True)


class TestFollowedConformance(GrowingConformance):
    @pytest.fixture
    def harness(self, tmp_path):
        return FileHarness(tmp_path / "news.jsonl", follow=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "news.jsonl"


def read(path, **settings):
    source = FileSource(path, **settings)
    try:
        records = drain(source)
        assert source.positions() == source.end_offsets()
        return records
    finally:
        source.close()


def test_a_record_says_its_file_line_and_time_of_reading(path):
    path.write_bytes(b"{}\n{}\n")
    record = read(path, now=lambda: 1_700_000_000.0)[1]
    assert (record.position.topic, record.position.partition) == ("news.jsonl", 0)
    assert record.position.offset == 1
    assert record.timestamp == 1_700_000_000_000
    assert record.key is None


def test_empty_lines_are_passed_over_and_counted(path):
    path.write_bytes(b'{"id": 1}\n\n   \r\n{"id": 2}\n\n')
    assert [record.position.offset for record in read(path)] == [0, 3]


def test_other_line_ends_stay_inside_a_line(path):
    """U+2028 and a lone carriage return end no line of JSON Lines."""
    path.write_bytes('{"id": "a\u2028b"}\r{}\r\n{}'.encode())
    assert len(read(path)) == 2


class TestLastLine:
    def test_without_a_line_feed_is_decoded_where_it_is_whole(self, path):
        path.write_bytes(b'{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}')
        assert [type(decode(record)) for record in read(path)] == [Upsert, Upsert]

    def test_in_the_middle_is_rejected_as_incomplete(self, path):
        path.write_bytes(b'{"id": "a", "text": "x"}\n{"id": "b", "te')
        whole, cut = read(path)
        assert isinstance(decode(whole), Upsert)
        rejected = decode(cut)
        assert isinstance(rejected, Rejected)
        assert rejected.reason is Reason.INCOMPLETE
        assert cut.value == b'{"id": "b", "te'

    def test_waits_for_its_end_while_followed(self, path):
        path.write_bytes(b'{"id": "a", "te')
        source = FileSource(path, follow=True)
        assert source.poll(10, 0.0) == []
        assert source.end_offsets() == {("news.jsonl", 0): 0}
        with path.open("ab") as file:
            file.write(b'xt": "x"}\n')
        (record,) = source.poll(10, 1.0)
        assert isinstance(decode(record), Upsert)
        source.close()

    @pytest.mark.parametrize("cut", [1, 9, 2000])
    def test_a_gzip_file_that_is_cut_off_gives_its_lines_and_one_incomplete(self, path, cut):
        lines = [json.dumps({"id": str(n), "text": str(n * n)}).encode() for n in range(3000)]
        path.write_bytes(gzip.compress(b"\n".join(lines) + b"\n")[:-cut])
        records = read(path)
        assert [record.value for record in records[:-1]] == lines[: len(records) - 1]
        rejected = decode(records[-1])
        assert isinstance(rejected, Rejected)
        assert rejected.reason is Reason.INCOMPLETE
        assert [decode(record) for record in records[:-1]].count(rejected) == 0


def test_an_overlong_line_is_held_in_part_and_rejected(path):
    path.write_bytes(b'{"id": "a", "text": "%s"}\n{"id": "b", "text": "y"}\n' % (b"x" * 5_000_000))
    long, short = read(path, max_line_bytes=100_000)
    assert len(long.value) == 100_000
    rejected = decode(long)
    assert isinstance(rejected, Rejected)
    assert rejected.reason is Reason.TOO_LARGE
    assert "5,000,023 bytes" in rejected.detail
    assert isinstance(decode(short), Upsert)


def test_seeking_counts_an_overlong_line_as_one(path):
    path.write_bytes(b"[%s]\n{}\n" % (b"1," * 2_000_000))
    source = FileSource(path, max_line_bytes=1000)
    source.seek({("news.jsonl", 0): 1})
    assert [record.value for record in drain(source)] == [b"{}"]
    source.close()


def test_memory_is_bounded_by_the_poll(path):
    path.write_bytes(b'"%s"\n' % (b"x" * 6_000_000) * 6)
    source = FileSource(path)
    assert len(source.poll(6, 0.0)) == 3
    source.close()


class TestFollowing:
    def test_notices_that_the_file_was_replaced(self, path):
        """What the old file still had is given first."""
        path.write_bytes(b"{}\n")
        source = FileSource(path, follow=True)
        source.poll(10, 0.0)
        with path.open("ab") as file:
            file.write(b'{"last": 1}\n')
        path.rename(path.with_suffix(".1"))
        path.write_bytes(b'{"new": 1}\n')
        assert [record.value for record in source.poll(10, 1.0)] == [b'{"last": 1}']
        with pytest.raises(SourceChangedError, match="replaced or cut"):
            source.poll(10, 1.0)
        source.close()

    def test_notices_that_the_file_was_cut(self, path):
        path.write_bytes(b"{}\n{}\n")
        source = FileSource(path, follow=True)
        source.poll(10, 0.0)
        path.write_bytes(b"{}\n")
        with pytest.raises(SourceChangedError, match="replaced or cut"):
            source.poll(10, 1.0)
        source.close()

    def test_a_compressed_file_cannot_be_followed(self, path):
        path.write_bytes(gzip.compress(b"{}\n"))
        with pytest.raises(SourceError, match="decompress"):
            FileSource(path, follow=True)


class TestUnreadable:
    def test_no_such_file(self, path):
        with pytest.raises(SourceError, match="not a file"):
            FileSource(path)

    def test_a_folder(self, tmp_path):
        with pytest.raises(SourceError, match="not a file"):
            FileSource(tmp_path)

    def test_a_damaged_gzip_file_says_where(self, path):
        body = bytearray(gzip.compress(b"".join(b'{"id": "%d"}\n' % n for n in range(50_000))))
        body[-8] ^= 0xFF  # the checksum
        path.write_bytes(bytes(body))
        with pytest.raises(SourceError, match=r"damaged after line \d+"):
            read(path)


class TestFilter:
    def test_keeps_what_matches_what_lacks_the_field_and_what_cannot_be_read(self, path):
        lines = [{"id": "a", "lang": "en"}, {"id": "b", "lang": "de"}, {"id": "c", "op": "delete"}]
        path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in lines) + b"[oops\n")
        records = read(path, transform=transform(only={"lang": "en"}))
        assert [record.position.offset for record in records] == [0, 2, 3]

    def test_a_filtered_end_is_reached(self, path):
        """The last records are left out, and yet the positions come to the end."""
        path.write_bytes(b'{"lang": "en"}\n' + b'{"lang": "de"}\n' * 2500)
        assert len(read(path, transform=transform(only={"lang": "en"}))) == 1


def test_the_reuters_file_resumes_within_a_second(corpora):
    path = corpora / "reuters21578.docs.jsonl.gz"
    source = FileSource(path)
    started = time.perf_counter()
    source.seek({(path.name, 0): 21_000})
    record = source.poll(1, 1.0)[0]
    taken = time.perf_counter() - started
    rest = drain(source, step=500)
    source.close()
    assert record.position.offset == 21_000
    assert len(rest) == 577
    assert taken < 1.0


def test_all_of_reuters_decodes(corpora):
    """1,799 stories have no body; with a title they are documents, without one they are not."""
    source = FileSource(corpora / "reuters21578.docs.jsonl.gz")
    contents = [decode(record) for record in drain(source, step=1000)]
    source.close()
    documents = [content.document for content in contents if isinstance(content, Upsert)]
    assert len(contents) == 21_578
    rejected = [content for content in contents if isinstance(content, Rejected)]
    assert {one.reason for one in rejected} <= {Reason.EMPTY_TEXT}
    assert len(documents) + len(rejected) == 21_578
    assert sum("text" in document.derived for document in documents) + len(rejected) == 1_799
