"""``service.json``: who serves a data directory."""

from dataclasses import replace
from pathlib import Path

import pytest

from deploy.service_file import announce, find, own_record, url_of, withdraw


def test_a_service_is_found_until_it_withdraws(tmp_path: Path) -> None:
    record = own_record("http://127.0.0.1:1", "run")
    assert announce(tmp_path, record)
    assert find(tmp_path) == record
    withdraw(tmp_path, record)
    assert find(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_record_of_a_process_that_is_gone_counts_as_none(tmp_path: Path) -> None:
    """Also when the number was given to another process since."""
    stale = replace(own_record("http://127.0.0.1:1", "run"), started=1.0)
    announce(tmp_path, stale)
    assert find(tmp_path) is None
    record = own_record("http://127.0.0.1:2", "serve")
    assert announce(tmp_path, record)
    assert find(tmp_path) == record


def test_a_second_service_leaves_the_first_ones_record(tmp_path: Path) -> None:
    first = own_record("http://127.0.0.1:1", "run")
    second = own_record("http://127.0.0.1:2", "serve")
    announce(tmp_path, first)
    assert not announce(tmp_path, second)
    withdraw(tmp_path, second)
    assert find(tmp_path) == first


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pid": "x"}', "\x00"])
def test_a_damaged_record_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "service.json").write_text(content, "utf-8")
    assert find(tmp_path) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104  a text
        ("::1", "http://[::1]:80"),
        ("::", "http://127.0.0.1:80"),
    ],
)
def test_an_address_is_one_that_this_host_reaches(host: str, url: str) -> None:
    assert url_of(host, 80) == url
