"""The outbox: every dead letter goes out in order, with its bytes, its place and its reason."""

import pytest

from index.types import Millis, Position, Reason, Record
from stream import outbox
from stream.dead_letters import DeadLetter
from stream.errors import ProduceError
from stream.outbox import Outbox, OutboxReport
from tests.stream.test_produce import Memory


def letter(number, value=b"\xff not json", key=b"\x00k", headers=()):
    record = Record(Position("news", 3, 40 + number), key, value, Millis(1_800), headers)
    return DeadLetter(number, record, Reason.NOT_UTF8, "the message is not UTF-8: byte 0")


class Store:
    def __init__(self, count):
        self.letters = [letter(number) for number in range(1, count + 1)]

    def __call__(self, after, limit, most_bytes):
        found = []
        for one in self.letters:
            if one.id > after and len(found) < limit and most_bytes > 0:
                found.append(one)
                most_bytes -= len(one.record.value)
        return found


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "outbox.json"


def numbers(memory):
    return [int(dict(message.headers)[outbox.LETTER]) for message in memory.messages]


def drain(box):
    reports = []
    while (report := box.step()) is not None:
        reports.append(report)
    return reports


def test_a_letter_carries_what_came_and_where_and_why():
    message = outbox.letter_message(letter(7, headers=(("trace", b"\x80"),)))
    assert (message.key, message.value) == (b"\x00k", b"\xff not json")
    assert message.headers == (
        ("trace", b"\x80"),
        ("tidegraph-letter", b"7"),
        ("tidegraph-topic", b"news"),
        ("tidegraph-partition", b"3"),
        ("tidegraph-offset", b"47"),
        ("tidegraph-timestamp", b"1800"),
        ("tidegraph-reason", b"not_utf8"),
        ("tidegraph-error", b"the message is not UTF-8: byte 0"),
    )


def test_a_letter_that_was_replayed_and_rejected_again_tells_of_the_last_time_alone():
    again = letter(9, headers=outbox.letter_message(letter(7)).headers)
    names = [name for name, _ in outbox.letter_message(again).headers]
    assert len(names) == len(set(names))
    assert dict(outbox.letter_message(again).headers)["tidegraph-letter"] == b"9"


def test_all_letters_go_out_once_in_order_over_restarts(mark):
    store, memory = Store(450), Memory(limit=10**6)
    first = Outbox(store, memory, "dead", mark)
    assert first.step() == OutboxReport(200)
    reports = drain(Outbox(store, memory, "dead", mark))
    assert [report.published for report in reports] == [200, 50]
    store.letters.append(letter(451))
    assert drain(Outbox(store, memory, "dead", mark)) == [OutboxReport(1)]
    assert numbers(memory) == list(range(1, 452))


def test_large_letters_go_out_a_few_at_a_time(mark):
    store, memory = Store(0), Memory(limit=10**8)
    body = b"x" * 6_000_000
    store.letters = [letter(number, value=body) for number in range(1, 8)]
    reports = drain(Outbox(store, memory, "dead", mark))
    assert [report.published for report in reports] == [3, 3, 1]
    assert numbers(memory) == list(range(1, 8))


def test_what_could_not_be_published_goes_out_later(mark):
    store, memory = Store(3), Memory()
    memory.fails_after = 0
    box = Outbox(store, memory, "dead", mark)
    with pytest.raises(ProduceError):
        box.step()
    memory.fails_after = None
    assert drain(box) == [OutboxReport(3)]
    assert numbers(memory) == [1, 2, 3]


def test_a_value_that_the_topic_does_not_take_is_left_out_and_its_size_told(mark):
    store, memory = Store(1), Memory(limit=1_000)
    store.letters.append(letter(2, value=b"x" * 5_000))
    assert Outbox(store, memory, "dead", mark).step() == OutboxReport(2, without_value=1)
    small, large = memory.messages
    assert small.value == b"\xff not json"
    assert (large.key, large.value) == (b"\x00k", b"")
    assert dict(large.headers)[outbox.LEFT_OUT] == b"5000"


def test_letters_that_the_store_gave_up_meanwhile_are_counted(mark):
    store, memory = Store(10), Memory()
    drain(Outbox(store, memory, "dead", mark))
    store.letters = [letter(number) for number in range(14, 17)]
    assert drain(Outbox(store, memory, "dead", mark)) == [OutboxReport(3, lost=3)]


@pytest.mark.parametrize(
    "said", ["", "{", "[]", '{"topic": "other", "letter": 2}', '{"letter": 2}']
)
def test_a_mark_that_says_nothing_about_the_topic_begins_at_the_first_letter(mark, said):
    mark.write_text(said)
    assert drain(Outbox(Store(3), Memory(), "dead", mark)) == [OutboxReport(3)]
