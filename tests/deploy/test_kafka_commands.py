"""``produce`` and ``index`` over a real broker."""

import json
import signal
import warnings

import pytest

from index.verify import verify
from tests.stream.broker import Broker, require_broker
from tests.test_end_to_end import STREAM, start, tidegraph

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from stream.kafka_connection import KafkaConnection, create_topic


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    require_broker()
    made = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        made.run("start")
        yield made
    finally:
        made.run("kill")


def test_a_topic_is_indexed_once_however_often_the_writer_is_killed(broker, tmp_path):
    create_topic(KafkaConnection((broker.bootstrap,), timeout=10.0), "news", partitions=3)
    at = ("--kafka", broker.bootstrap, "--topic", "news", "--data", str(tmp_path))
    tidegraph("produce", str(STREAM), *at)
    process = start("index", "--until-end", "--set", "batch_records=10", *at)
    for _ in range(600):
        if (tmp_path / "index.db").exists():
            break
        try:
            process.wait(0.05)
        except Exception:  # noqa: BLE001, S112  it still runs
            continue
    process.send_signal(signal.SIGKILL)
    process.wait()
    tidegraph("index", "--until-end", *at)
    status = json.loads(tidegraph("status", "--json", "--data", str(tmp_path)))
    assert status["documents"] == 156
    assert sum(p["offset"] for p in status["positions"]) == 168
    assert verify(tmp_path).ok
    tidegraph("index", "--until-end", *at)
    again = json.loads(tidegraph("status", "--json", "--data", str(tmp_path)))
    assert again["documents"] == 156


def test_an_address_where_nothing_listens_is_told_in_one_line(tmp_path):
    said = tidegraph(
        "index", "--until-end", "--kafka", "127.0.0.1:1", "--data", str(tmp_path), code=1
    )
    assert "Traceback" not in said
