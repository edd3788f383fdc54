"""What the Kafka readers do with a client that fails, by a client that fails when told to."""

import warnings
from types import SimpleNamespace

import pytest

from stream.errors import PositionLostError, SourceUnavailableError

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import KafkaConnectionError, LogTruncationError

    from stream.kafka import KafkaSource
    from stream.kafka_connection import KafkaConnection

HERE = ("topic", 0)
END = 10


class Client:
    """One partition of ten records, given in fours; ``fails`` holds an error for each call."""

    def __init__(self):
        self.at = 0
        self.fails = {}

    def partitions_for_topic(self, _):
        return {0}

    def beginning_offsets(self, partitions, **_):
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions, **_):
        return dict.fromkeys(partitions, END)

    def assign(self, _):
        pass

    def seek(self, _, offset):
        self.at = offset

    def highwater(self, _):
        return END

    def position(self, *_, **__):
        self._fail("position")
        return self.at

    def poll(self, *_):
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
        pass

    def _fail(self, call):
        # As the client does: an error that was kept is thrown once.
        if (error := self.fails.pop(call, None)) is not None:
            raise error


@pytest.fixture
def client(monkeypatch):
    made = Client()
    monkeypatch.setattr("stream.kafka.KafkaConsumer", lambda **_: made)
    return made


@pytest.fixture
def source(client):
    return KafkaSource(KafkaConnection(("broker:9092",)), ["topic"], now=lambda: 1e9)


def offsets(source):
    return [record.position.offset for record in source.poll(100, 0)]


class TestErrorsAroundAPoll:
    @pytest.mark.parametrize("after", [0, 1])
    def test_a_failing_client_costs_no_record(self, client, source, after):
        seen = [offset for _ in range(after) for offset in offsets(source)]
        client.fails["position"] = KafkaConnectionError("gone")
        for _ in range(5):
            try:
                seen += offsets(source)
            except SourceUnavailableError:
                assert source.positions()[HERE] == len(seen)
        assert seen == list(range(END))

    def test_a_log_that_lost_what_was_read_is_a_lost_position(self, client, source):
        assert offsets(source) == [0, 1, 2, 3]
        client.fails["position"] = LogTruncationError({TopicPartition(*HERE): 2})
        with pytest.raises(PositionLostError, match="data directory"):
            source.poll(100, 0)
        assert source.positions() == {HERE: 4}
