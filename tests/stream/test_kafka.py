"""Kafka as source and producer, on a real broker."""

import http.server
import itertools
import threading
import time
import warnings
from dataclasses import replace

import pytest

from index.types import Millis, Reason
from stream.errors import PositionLostError, ProduceError, SourceError, SourceUnavailableError
from stream.message import decode
from stream.source import Message
from tests.stream.broker import Broker, collecting, free_ports, require_broker
from tests.stream.conformance import FakeTime, Harness, SourceConformance, bodies, drain

with warnings.catch_warnings():
    # The client reads its protocol by a function that importlib wants to give up.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka

    from stream.kafka import KafkaSource
    from stream.kafka_admin import GroupMarks
    from stream.kafka_connection import KafkaConnection, create_topic
    from stream.kafka_producer import KafkaProducer

pytestmark = [
    # A client that finds no server leaves its sockets to the collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _collected():
    with collecting():
        yield


names = (f"topic-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    require_broker()
    made = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        made.run("start")
        yield made
    finally:
        made.run("kill")


@pytest.fixture
def connection(broker):
    return KafkaConnection((broker.bootstrap,), timeout=10.0)


@pytest.fixture
def topic(connection):
    name = next(names)
    create_topic(connection, name)
    return name


def read(connection, topic, positions=None, **settings):
    source = KafkaSource(connection, [topic], **settings)
    try:
        source.seek(positions or {})
        return drain(source)
    finally:
        source.close()


def publish(connection, topic, messages, **settings):
    producer = KafkaProducer(connection, **settings)
    try:
        return producer.publish(topic, messages)
    finally:
        producer.close()


class KafkaHarness(Harness):
    def __init__(self, connection, partitions):
        self.connection = connection
        self.topic = next(names)
        create_topic(connection, self.topic, partitions=partitions)
        self.time = FakeTime()
        self.time.clock = time.monotonic

    def publish(self, values):
        messages = [Message(b"k%d" % number, value) for number, value in enumerate(values)]
        publish(self.connection, self.topic, messages)

    def open(self):
        return KafkaSource(self.connection, [self.topic])


class TestConformance(SourceConformance):
    @pytest.fixture(params=[1, 3])
    def harness(self, connection, request):
        return KafkaHarness(connection, request.param)


class TestFaithful:
    @pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
    def test_bytes_come_back_untouched_by_every_codec(self, connection, topic, compression):
        message = Message(
            b"\xff\x00", b"\x00no text \xfe" * 50, (("trace", b"\x80"), ("trace", b""))
        )
        publish(connection, topic, [message, Message(b"gone", None)], compression=compression)
        first, second = read(connection, topic)
        assert (first.key, first.value) == (message.key, message.value)
        assert first.headers == message.headers
        assert (second.key, second.value, second.headers) == (b"gone", None, ())

    def test_keys_go_where_other_clients_put_them(self, connection):
        name = next(names)
        create_topic(connection, name, partitions=5)
        keys = [b"k%d" % (number % 7) for number in range(28)]
        positions = publish(connection, name, [Message(key, b"x") for key in keys])
        assert len({(key, at.partition) for key, at in zip(keys, positions, strict=True)}) == 7
        theirs = kafka.KafkaProducer(bootstrap_servers=list(connection.bootstrap))
        placed = [theirs.send(name, b"x", key=key).get(10).partition for key in keys]
        theirs.close()
        assert placed == [position.partition for position in positions]

    @pytest.mark.parametrize(
        ("stated", "given"),
        [
            (1_700_000_000_000, 1_700_000_000_000),
            (0, 1_800_000_000_000),
            (4_102_444_800_000, 1_800_000_000_000),
        ],
    )
    def test_a_timestamp_that_cannot_be_true_is_the_time_of_reading(
        self, connection, stated, given
    ):
        name = next(names)
        # A record's own time decides when it is deleted: without these, one from 2023 goes at once.
        settings = {"message.timestamp.after.max.ms": str(2**62), "retention.ms": "-1"}
        create_topic(connection, name, settings=settings)
        theirs = kafka.KafkaProducer(bootstrap_servers=list(connection.bootstrap))
        theirs.send(name, b"x", timestamp_ms=stated).get(10)
        theirs.close()
        (record,) = read(connection, name, now=lambda: 1_800_000_000.0)
        assert record.timestamp == Millis(given)

    def test_only_what_a_transaction_committed_is_given(self, connection, topic):
        """And the positions pass over what was aborted, and over the markers, to the end."""
        theirs = kafka.KafkaProducer(
            bootstrap_servers=list(connection.bootstrap), transactional_id=f"test-{topic}"
        )
        theirs.init_transactions()
        for value, commit in [(b"one", True), (b"undone", False), (b"two", True), (b"no", False)]:
            theirs.begin_transaction()
            theirs.send(topic, value).get(10)
            (theirs.commit_transaction if commit else theirs.abort_transaction)()
        theirs.close()
        source = KafkaSource(connection, [topic])
        records = drain(source)
        assert [record.value for record in records] == [b"one", b"two"]
        assert [record.position.offset for record in records] == [0, 4]
        assert source.positions() == {(topic, 0): 8}
        assert source.lag() == {(topic, 0): 0}
        source.close()


class NotText(str):
    """A header's name that goes out as bytes that are no UTF-8, as other clients may send."""

    __slots__ = ()

    def encode(self, *_):
        return b"\xff\xfe"


def test_a_record_that_the_client_cannot_read_is_marked_and_passed(connection):
    """Its batch is lost with it, since the client reads batches from their first record on."""
    name = next(names)
    create_topic(connection, name, partitions=2)
    theirs = kafka.KafkaProducer(bootstrap_servers=list(connection.bootstrap), linger_ms=100)
    for key, headers in [(b"0", []), (b"1", [(NotText("x"), b"")]), (b"2", [])]:
        theirs.send(name, b"bad batch", key=key, headers=headers, partition=0)
    theirs.flush()
    theirs.send(name, b"next batch", partition=0)
    theirs.send(name, b"elsewhere", partition=1)
    theirs.close()
    records = read(connection, name)
    seen = {(r.position.partition, r.position.offset): decode(r) for r in records}
    assert sorted(seen) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    assert seen[0, 1].reason is seen[0, 2].reason is Reason.UNREADABLE
    assert "UnicodeDecodeError" in seen[0, 1].detail
    values = {r.value for r in records}
    assert {b"next batch", b"elsewhere"} <= values


class TestSize:
    def test_a_message_that_is_too_large_is_left_out_alone(self, connection):
        """Those behind it are published, in order, although the client gives them up."""
        name = next(names)
        create_topic(connection, name, settings={"max.message.bytes": "200000"})
        producer = KafkaProducer(connection, compression=None)
        sizes = [10, 300_000, 20, 400_000, 30]
        positions = producer.publish(name, [Message(b"k", bytes(size)) for size in sizes])
        assert [at and at.offset for at in positions] == [0, None, 1, None, 2]
        (after,) = producer.publish(name, [Message(b"k", bytes(40))])
        producer.close()
        assert after.offset == 3
        assert [len(record.value) for record in read(connection, name)] == [10, 20, 30, 40]

    def test_a_message_larger_than_any_topic_takes(self, connection, topic):
        huge = Message(b"k", bytes(64 * 1024 * 1024 + 1))
        assert [
            at and at.offset for at in publish(connection, topic, [huge, Message(b"k", b"x")])
        ] == [
            None,
            0,
        ]


class Ids:
    def __init__(self):
        self.kept = {}

    def known(self):
        return self.kept

    def keep(self, ids):
        self.kept = dict(ids)


def made_anew(connection, topic):
    admin = kafka.KafkaAdminClient(bootstrap_servers=list(connection.bootstrap))
    admin.delete_topics([topic])
    admin.close()
    for _ in range(50):
        if create_topic(connection, topic):
            return
        time.sleep(0.1)


class TestLost:
    def test_a_topic_made_anew_is_noticed(self, connection, topic):
        publish(connection, topic, [Message(b"k", b"x")] * 5)
        source = KafkaSource(connection, [topic])
        assert len(drain(source)) == 5
        made_anew(connection, topic)
        with pytest.raises(PositionLostError, match="beyond its end"):
            read(connection, topic, {(topic, 0): 5})
        with pytest.raises(PositionLostError, match="made anew"):
            self._poll_until_told(source)
        source.close()

    def test_a_topic_made_anew_that_has_grown_past_the_position_is_noticed(self, connection, topic):
        publish(connection, topic, [Message(b"k", b"old")] * 3)
        ids = Ids()
        assert len(read(connection, topic, ids=ids)) == 3
        assert len(read(connection, topic, {(topic, 0): 2}, ids=ids)) == 1
        made_anew(connection, topic)
        publish(connection, topic, [Message(b"k", b"new")] * 9)
        with pytest.raises(PositionLostError, match="was made anew since it was read"):
            read(connection, topic, {(topic, 0): 3}, ids=ids)
        assert len(read(connection, topic, {(topic, 0): 3}, ids=ids, lost="skip")) == 6
        # Now the new one is the known one; and where nothing was read there is nothing to lose.
        assert len(read(connection, topic, {(topic, 0): 3}, ids=ids)) == 6
        ids.kept = {topic: "another"}
        assert len(read(connection, topic, ids=ids)) == 9

    def test_a_topic_made_anew_while_it_is_read_is_noticed_within_a_minute(self, connection, topic):
        publish(connection, topic, [Message(b"k", b"old")] * 3)
        fake = FakeTime()
        source = KafkaSource(connection, [topic], ids=Ids(), clock=fake.clock)
        source.seek({})
        assert len(drain(source)) == 3
        made_anew(connection, topic)
        publish(connection, topic, [Message(b"k", b"new")] * 9)
        fake.now += 61
        with pytest.raises(PositionLostError, match="made anew"):
            source.poll(1, 0.2)
        source.close()

    def test_records_that_retention_took_are_told(self, connection, topic):
        publish(connection, topic, [Message(b"k", b"%d" % n) for n in range(5)])
        source = KafkaSource(connection, [topic])
        admin = kafka.KafkaAdminClient(bootstrap_servers=list(connection.bootstrap))
        admin.delete_records({kafka.TopicPartition(topic, 0): 3})
        admin.close()
        with pytest.raises(PositionLostError, match=r"records 1 to 2 of .* are gone"):
            read(connection, topic, {(topic, 0): 1})
        with pytest.raises(PositionLostError, match=r"records 0 to 2 of .* are gone"):
            self._poll_until_told(source)
        source.close()
        skipped = read(connection, topic, {(topic, 0): 1}, lost="skip")
        assert [record.value for record in skipped] == [b"3", b"4"]

    def _poll_until_told(self, source):
        for _ in range(100):
            source.poll(1, 0.2)


def test_partitions_that_are_added_are_found(connection, topic):
    fake = FakeTime()
    source = KafkaSource(replace(connection, metadata_age=0.5), [topic], clock=fake.clock)
    publish(connection, topic, [Message(b"a", b"old")])
    assert len(drain(source)) == 1
    admin = kafka.KafkaAdminClient(bootstrap_servers=list(connection.bootstrap))
    admin.create_partitions({topic: 4})
    admin.close()
    publish(connection, topic, [Message(b"k%d" % n, b"new") for n in range(20)])
    deadline = time.monotonic() + 60
    records = []
    while len(records) < 20 and time.monotonic() < deadline:
        fake.now += 10
        records += source.poll(100, 0.2)
    assert len(source.partitions()) == 4
    assert len({record.position for record in records}) == 20
    source.close()


def marked(marks, positions):
    """The first time, the brokers still have to find a coordinator for the group."""
    for _ in range(50):
        try:
            return marks.mark(positions)
        except SourceUnavailableError:
            time.sleep(0.2)
    return marks.mark(positions)


def test_positions_are_marked_for_a_group_that_nobody_is_in(connection, topic):
    publish(connection, topic, [Message(b"k", b"x")] * 5)
    marks = GroupMarks(connection, "lag-of-ours")
    assert marked(marks, {(topic, 0): 3}) == 1
    assert marks.mark({(topic, 0): 3}) == 0
    admin = kafka.KafkaAdminClient(bootstrap_servers=list(connection.bootstrap))
    try:
        held = admin.list_group_offsets({"lag-of-ours": None})["lag-of-ours"]
        assert held[kafka.TopicPartition(topic, 0)].offset == 3
        admin.delete_groups(["lag-of-ours"])
    finally:
        admin.close()
    (port,) = free_ports(1)
    nowhere = KafkaConnection((f"127.0.0.1:{port}",), timeout=1.0)
    with pytest.raises(SourceUnavailableError):
        GroupMarks(nowhere, "lag-of-ours").mark({(topic, 0): 3})


def test_no_consumer_group_is_left_behind(connection, topic):
    publish(connection, topic, [Message(b"k", b"x")])
    read(connection, topic)
    admin = kafka.KafkaAdminClient(bootstrap_servers=list(connection.bootstrap))
    groups = admin.list_groups()
    admin.close()
    assert groups == []


class TestUnreachable:
    def test_nothing_listens(self):
        (port,) = free_ports(1)
        nowhere = KafkaConnection((f"127.0.0.1:{port}",), timeout=1.0)
        with pytest.raises(SourceUnavailableError, match=f"127.0.0.1:{port} does not answer"):
            KafkaSource(nowhere, ["news"])
        with pytest.raises(ProduceError, match="does not answer"):
            KafkaProducer(nowhere)

    def test_something_else_listens(self):
        other = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler
        )
        other.RequestHandlerClass.log_message = lambda *_: None
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        address = f"127.0.0.1:{other.server_port}"
        with pytest.raises(SourceUnavailableError, match="check the address"):
            KafkaSource(KafkaConnection((address,), timeout=1.0), ["news"])
        other.shutdown()
        thread.join()
        other.server_close()

    def test_no_such_topic_names_those_that_are_there(self, connection, topic):
        with pytest.raises(SourceError, match=f"no topic 'nope'; it has: .*{topic}"):
            KafkaSource(connection, ["nope"])
        with pytest.raises(ProduceError, match="does not answer as it should"):
            publish(
                KafkaConnection(connection.bootstrap, timeout=2.0), "nope", [Message(b"k", b"")]
            )


@pytest.mark.slow
def test_a_broker_that_is_killed_and_frozen_is_read_on_without_loss(tmp_path):
    """What was acknowledged before a kill is there after it, each record once."""
    require_broker()
    broker = Broker(tmp_path / "kafka")
    try:
        broker.run("start")
        connection = KafkaConnection((broker.bootstrap,), timeout=10.0)
        create_topic(connection, "news")
        publish(connection, "news", [Message(b"k", body) for body in bodies(20)])
        source = KafkaSource(connection, ["news"])
        records = source.poll(5, 5.0)
        broker.run("freeze")
        frozen = time.monotonic()
        records += source.poll(1, 0.3)
        assert time.monotonic() - frozen < 2.0
        broker.run("thaw")
        broker.run("kill")
        broker.run("start")
        deadline = time.monotonic() + 60
        while len(records) < 20 and time.monotonic() < deadline:
            try:
                records += source.poll(5, 0.5)
            except SourceUnavailableError:
                time.sleep(0.2)
        source.close()
        assert [record.value for record in records] == bodies(20)
    finally:
        broker.run("kill")


def test_a_password_is_asked_for_and_never_shown(broker, topic):
    address = (f"127.0.0.1:{broker.sasl}",)
    plain = {"security": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "reader"}
    right = KafkaConnection(address, password="right", timeout=10.0, **plain)  # noqa: S106  made here
    assert "right" not in repr(right)
    publish(right, topic, [Message(b"k", b"x")])
    assert [record.value for record in read(right, topic)] == [b"x"]
    wrong = KafkaConnection(address, password="wrong", timeout=2.0, **plain)  # noqa: S106
    with pytest.raises(SourceUnavailableError, match="user name and password") as told:
        KafkaSource(wrong, [topic])
    assert "wrong" not in str(told.value)
