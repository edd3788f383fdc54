"""What the Kafka readers do with a client that fails, by a client that fails when told to."""

import warnings
from types import SimpleNamespace

import pytest

from stream.errors import PositionLostError, SourceUnavailableError

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import (
        CorruptRecordError,
        IllegalStateError,
        KafkaConnectionError,
        LogTruncationError,
    )

    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection
    from stream.kafka_group import KafkaGroup

HERE = ("topic", 0)
END = 10


class Client:
    """One partition of ten records, given in fours; ``fails`` has an error for each call."""

    def __init__(self, fails):
        self.at = 0
        self.fails = fails
        self.assigned = self.closed = False

    def partitions_for_topic(self, _):
        return {0}

    def subscribe(self, *_, listener):
        self.assigned = True
        listener.on_partitions_assigned([TopicPartition(*HERE)])

    def committed(self, _):
        return 0

    def beginning_offsets(self, partitions, **_):
        self._fail("beginning_offsets")
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions, **_):
        return dict.fromkeys(partitions, END)

    def assign(self, _):
        self.assigned = True

    def seek(self, _, offset):
        self.at = offset

    def highwater(self, _):
        if not self.assigned:
            raise IllegalStateError("Partition is not assigned")
        return END

    def position(self, *_, **__):
        self._fail("position")
        return self.at

    def poll(self, *_):
        if self.closed or not self.assigned:
            raise IllegalStateError("KafkaConsumer is closed")
        self._fail("poll")
        until = min(END, self.at + 4)
        records = [
            SimpleNamespace(
                topic="topic", partition=0, offset=at, headers=(), key=b"k", value=b"v", timestamp=0
            )
            for at in range(self.at, until)
        ]
        self.at = until
        return {TopicPartition(*HERE): records}

    def close(self, **_):
        self.closed = True

    def _fail(self, call):
        # As the client does: an error that was kept is thrown once.
        if (error := self.fails.pop(call, None)) is not None:
            raise error


@pytest.fixture
def fails(monkeypatch):
    """The next error of each of the client's calls; "connect" is the call that makes one."""
    fails = {}

    def connect(**_):
        made = Client(fails)
        made._fail("connect")
        return made

    monkeypatch.setattr("stream.kafka.KafkaConsumer", connect)
    monkeypatch.setattr("stream.kafka_group.KafkaConsumer", connect)
    return fails


@pytest.fixture
def source(fails):
    return KafkaSource(KafkaConnection(("broker:9092",)), ["topic"], now=lambda: 1e9)


def offsets(source):
    return [record.position.offset for record in source.poll(100, 0)]


class TestErrorsAroundAPoll:
    @pytest.mark.parametrize("after", [0, 1])
    def test_a_failing_client_costs_no_record(self, fails, source, after):
        seen = [offset for _ in range(after) for offset in offsets(source)]
        fails["position"] = KafkaConnectionError("gone")
        for _ in range(5):
            try:
                seen += offsets(source)
            except SourceUnavailableError:
                assert source.positions()[HERE] == len(seen)
        assert seen == list(range(END))

    def test_a_log_that_lost_what_was_read_is_a_lost_position(self, fails, source):
        assert offsets(source) == [0, 1, 2, 3]
        fails["position"] = LogTruncationError({TopicPartition(*HERE): 2})
        with pytest.raises(PositionLostError, match="data directory"):
            source.poll(100, 0)
        assert source.positions() == {HERE: 4}


class TestAClientMadeAnew:
    """After a record that it could not read the client is closed: another takes its place."""

    @pytest.fixture(autouse=True)
    def _found_readable(self, monkeypatch):
        for module in ("kafka", "kafka_group"):
            monkeypatch.setattr(f"stream.{module}.failure", lambda *_: None)

    @pytest.mark.parametrize("call", ["connect", "beginning_offsets"])
    def test_a_source_tries_again_until_it_is_assigned(self, fails, source, call):
        seen = offsets(source)
        fails |= {"poll": CorruptRecordError("unreadable"), call: KafkaConnectionError("gone")}
        refused = 0
        for _ in range(4):
            try:
                seen += offsets(source)
            except SourceUnavailableError:
                refused += 1
                assert source.lag() == {HERE: 6}
                assert source.end_offsets() == {HERE: END}
        assert refused == 1
        assert seen == list(range(END))

    def test_a_member_of_a_group_tries_again_until_it_is_connected(self, fails):
        group = KafkaGroup(KafkaConnection(("broker:9092",)), "topic", "group", now=lambda: 1e9)
        assert group.poll(100, 0) == []  # the partition comes
        fails["poll"] = CorruptRecordError("unreadable")
        assert group.poll(100, 0) == []
        fails["connect"] = KafkaConnectionError("no brokers")
        with pytest.raises(SourceUnavailableError):
            group.poll(100, 0)
        found = [one.record.position.offset for _ in range(3) for one in group.poll(100, 0)]
        assert found == [0, 1, 2, 3, 4, 5, 6, 7]
