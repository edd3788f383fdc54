"""The demo's stream is what the demo promises: stories, revisions, withdrawals, and answers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import resources
from itertools import combinations, pairwise
from typing import Any

import orjson
import pytest

from index.types import Millis, Position, Record, Rejected
from stream.message import decode

Message = Mapping[str, Any]

_FOLDER = resources.files("deploy.demo")
_AFTER_THE_WEEK = Millis(1_795_000_000_000)
"""A record's time after the last item (18 November 2026), so that no date lies ahead."""


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return (_FOLDER / "stream.jsonl").read_bytes().splitlines()


@pytest.fixture(scope="module")
def messages(lines: list[bytes]) -> list[Message]:
    return [orjson.loads(line) for line in lines]


@pytest.fixture(scope="module")
def upserts(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.get("op", "upsert") == "upsert"]


@pytest.fixture(scope="module")
def final(messages: list[Message]) -> dict[str, Message]:
    """The documents that are left at the end, each in its last revision."""
    return {
        identity: message
        for identity, message in {message["id"]: message for message in messages}.items()
        if message.get("op") != "delete"
    }


@pytest.fixture(scope="module")
def questions() -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads((_FOLDER / "questions.json").read_bytes())
    return body


def _answerable(questions: Mapping[str, Any]) -> Iterator[Message]:
    yield questions["local"]
    yield questions["global"]
    yield from questions["more"]


def _shingles(message: Message) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", message["text"].lower())
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _alike(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other)


def test_every_line_decodes_as_a_document_message(lines: list[bytes]) -> None:
    for number, line in enumerate(lines):
        record = Record(Position("demo", 0, number), None, line, _AFTER_THE_WEEK)
        content = decode(record)
        assert not isinstance(content, Rejected), content


def test_documents_carry_every_field_so_that_nothing_is_derived(upserts: list[Message]) -> None:
    for message in upserts:
        for name in ("title", "text", "source", "lang", "published_at", "observed_at"):
            assert message[name], (message["id"], name)
        assert re.match(r"https://[a-z.-]+\.example/", message["url"])
        assert message["metadata"]["story"]


def test_at_least_150_documents_are_left_at_the_end(final: dict[str, Message]) -> None:
    assert len(final) >= 150


def test_items_are_short_news_of_60_to_160_words(upserts: list[Message]) -> None:
    lengths = {message["id"]: len(message["text"].split()) for message in upserts}
    assert {identity: n for identity, n in lengths.items() if not 60 <= n <= 160} == {}


def test_an_id_comes_again_only_with_a_higher_version(messages: list[Message]) -> None:
    versions: dict[str, list[Any]] = defaultdict(list)
    for message in messages:
        versions[message["id"]].append(message.get("version"))
    for identity, seen in versions.items():
        assert len(seen) == 1 or all(a < b for a, b in pairwise(seen)), identity


def test_at_least_five_corrections_change_the_text(upserts: list[Message]) -> None:
    texts = defaultdict(set)
    for message in upserts:
        texts[message["id"]].add(message["text"])
    assert sum(len(revisions) > 1 for revisions in texts.values()) >= 5


def test_two_items_are_withdrawn_after_they_appeared(messages: list[Message]) -> None:
    known: set[str] = set()
    withdrawn = []
    for message in messages:
        if message.get("op") == "delete":
            assert message["id"] in known
            withdrawn.append(message["id"])
        known.add(message["id"])
    assert len(withdrawn) >= 2
    assert not {message["id"] for message in messages[-20:]} & set(withdrawn)


def test_items_arrive_in_order_within_the_week(messages: list[Message]) -> None:
    arrivals = [datetime.fromisoformat(message["observed_at"]) for message in messages]
    assert arrivals == sorted(arrivals)
    assert arrivals[0] >= datetime(2026, 11, 2, tzinfo=UTC)
    assert arrivals[-1] < datetime(2026, 11, 9, tzinfo=UTC)


def test_items_are_observed_within_half_an_hour_of_publication(upserts: list[Message]) -> None:
    for message in upserts:
        published = datetime.fromisoformat(message["published_at"])
        delay = datetime.fromisoformat(message["observed_at"]) - published
        assert 0 <= delay.total_seconds() <= 1800, message["id"]


def test_eight_stories_or_more_are_told_by_several_sources_over_days(
    upserts: list[Message],
) -> None:
    sources, days = defaultdict(set), defaultdict(set)
    for message in upserts:
        story = message["metadata"]["story"]
        sources[story].add(message["source"])
        days[story].add(message["published_at"][:10])
    told = [story for story in sources if len(sources[story]) >= 3 and len(days[story]) >= 4]
    assert len(told) >= 8


def test_stories_are_interleaved(upserts: list[Message]) -> None:
    stories = [message["metadata"]["story"] for message in upserts]
    assert sum(a != b for a, b in pairwise(stories)) > 0.7 * len(stories)


def test_french_and_german_items_stand_beside_the_english_ones(upserts: list[Message]) -> None:
    count = Counter(message["lang"] for message in upserts)
    assert set(count) == {"en", "fr", "de"}
    assert min(count["fr"], count["de"]) >= 3


def test_other_outlets_carry_near_copies_of_wire_items(final: dict[str, Message]) -> None:
    shingles = {identity: _shingles(message) for identity, message in final.items()}
    copies = [
        (one, other)
        for one, other in combinations(final, 2)
        if final[one]["source"] != final[other]["source"]
        and 0.6 <= _alike(shingles[one], shingles[other]) < 1
    ]
    assert len(copies) >= 10


def test_no_outlet_repeats_its_own_prose(final: dict[str, Message]) -> None:
    """Only copies of the wire are alike; all else was written, not filled into a pattern."""
    shingles = {identity: _shingles(message) for identity, message in final.items()}
    for one, other in combinations(final, 2):
        if final[one]["source"] == final[other]["source"]:
            assert _alike(shingles[one], shingles[other]) < 0.25, (one, other)


@pytest.mark.parametrize(
    ("name", "stories"),
    [
        ("Quillane", {"hospital-outage", "museum-theft", "battery-recall"}),
        ("Halmond", {"olive-oil-fraud", "museum-theft", "harbour-dredging", "mayoral-election"}),
        ("AX-40", {"battery-recall", "hospital-outage", "research-vessel"}),
        ("OW-7731", {"bridge-inspection", "research-vessel"}),
        ("Gannet Bank", {"harbour-dredging", "research-vessel"}),
    ],
)
def test_stories_meet_in_a_name(
    final: dict[str, Message],
    name: str,
    stories: set[str],
) -> None:
    found = {m["metadata"]["story"] for m in final.values() if name in m["text"]}
    assert stories <= found


def test_questions_are_one_local_one_global_five_more_and_two_without_an_answer(
    questions: dict[str, Any],
) -> None:
    assert set(questions) == {"local", "global", "more", "unanswerable"}
    assert len(questions["more"]) == 5
    assert len(questions["unanswerable"]) == 2
    asked = [item["question"] for item in _answerable(questions)] + questions["unanswerable"]
    assert len(set(asked)) == 9


def test_every_expected_document_is_in_the_stream_and_stays(
    questions: dict[str, Any],
    final: dict[str, Message],
) -> None:
    for item in _answerable(questions):
        assert item["expected_ids"]
        assert set(item["expected_ids"]) <= set(final), item["question"]


def test_the_global_question_needs_several_stories(
    questions: dict[str, Any],
    final: dict[str, Message],
) -> None:
    expected = questions["global"]["expected_ids"]
    assert len({final[identity]["metadata"]["story"] for identity in expected}) >= 4
