"""The share of rejected records: told once when it is high, and the end only where that is set."""

import threading

import pytest

from deploy import runtime
from deploy.assembly.streams import Origin
from deploy.rejects import RECORDS, RejectShare, TooManyRejectsError
from deploy.settings import Settings
from index.admission import DocumentOutcome
from index.report import GenerationReport


def generation(inserted, rejected):
    outcomes = {DocumentOutcome.INSERTED: inserted, DocumentOutcome.REJECTED: rejected}
    return GenerationReport(1, outcomes=outcomes, rejected={"not_json": rejected})


def test_a_high_share_is_told_once_until_it_has_fallen():
    said = []
    share = RejectShare(0.2, stop=False, told=said.append)
    for inserted, rejected, over in [(90, 10, False), (50, 50, True), (80, 20, True)]:
        share.add(generation(inserted, rejected))
        assert share.over is over
    assert said == [
        "60 of the last 200 records were rejected (limit 20%); in the last batch not_json: 50"
    ]
    for _ in range(10):
        share.add(generation(RECORDS // 5, 0))
    assert (share.over, share.share) == (False, 0.0)
    share.add(generation(0, RECORDS))
    assert len(said) == 2


def test_a_few_records_say_nothing():
    share = RejectShare(0.2, stop=True, told=lambda _: None)
    share.add(generation(1, 9))
    assert not share.over


@pytest.mark.parametrize("stop", [False, True])
def test_the_writer_ends_only_where_that_is_set(tmp_path, stop):
    file = tmp_path / "news.jsonl"
    file.write_bytes(b"not json\n" * 50 + b'{"id": "a", "text": "Prices rose."}\n')
    settings = Settings(data=tmp_path / "data", rejects_stop=stop, batch_records=25)
    arguments = (settings, Origin(file, follow=False), threading.Event())
    if stop:
        with pytest.raises(TooManyRejectsError, match="25 of the last 25 records were rejected"):
            runtime.index(*arguments, until_end=True, told=None)
    else:
        assert "1 documents" in runtime.index(*arguments, until_end=True, told=None)
