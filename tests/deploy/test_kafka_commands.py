"""``produce`` and ``index`` over a real broker."""

import json
import signal
import warnings

import httpx
import pytest

from index.verify import verify
from tests.stream.broker import Broker, free_ports, require_broker
from tests.test_end_to_end import STREAM, content, start, tidegraph

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


def test_an_extractor_and_a_writer_give_the_index_of_a_writer_alone(broker, tmp_path):
    create_topic(KafkaConnection((broker.bootstrap,), timeout=10.0), "shared", partitions=3)
    at = ("--kafka", broker.bootstrap, "--topic", "shared")
    port = free_ports(1)[0]
    metrics = ("--set", f"extract_port={port}")
    extractor = start("extract", *at, "--analyses", "shared-analyses", *metrics)
    try:
        tidegraph("produce", str(STREAM), *at)
        fed = ("--analyses", "shared-analyses", "--data", str(tmp_path / "fed"))
        tidegraph("index", "--until-end", *at, *fed)
        told = httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'tidegraph_extracted_records_total{outcome="analyzed"} 166.0' in told
    finally:
        extractor.send_signal(signal.SIGTERM)
        assert extractor.wait(10) == 0
    tidegraph("index", "--until-end", *at, "--data", str(tmp_path / "alone"))
    assert content(tmp_path / "fed") == content(tmp_path / "alone")
    assert verify(tmp_path / "fed").ok
    # The same store goes on from the documents themselves, at the same positions.
    said = tidegraph("index", "--until-end", *at, "--data", str(tmp_path / "fed"))
    assert "Traceback" not in said


def test_an_address_where_nothing_listens_is_told_in_one_line(tmp_path):
    said = tidegraph(
        "index", "--until-end", "--kafka", "127.0.0.1:1", "--data", str(tmp_path), code=1
    )
    assert "Traceback" not in said
