"""Full-text search of scripts without spaces: letters are words, words are phrases."""

import pytest

from index.analysis.scripts import pieces, spread
from query.words import content_words
from tests.index.simple import Feed, commit, open_writer

CHINESE = "北京大学昨天宣布新的图书馆将于明年开放。"
JAPANESE = "日本銀行は金利を引き下げたと発表した。リリースは来週です。"
THAI = "ธนาคารแห่งประเทศไทยลดอัตราดอกเบี้ย"


@pytest.fixture
def writer(tmp_path):
    writer = open_writer(tmp_path)
    yield writer
    writer.close()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("图书馆什么时候开放", "zh"),
        ("北京大学", "zh"),
        ("金利はどうなりましたか", "ja"),
        ("リリースはいつですか", "ja"),
        ("ธนาคารแห่งประเทศไทย", "th"),
        ("oil", "en"),
    ],
)
def test_a_question_in_an_unspaced_script_finds_its_document(writer, question, found):
    feed = Feed()
    texts = {"zh": CHINESE, "ja": JAPANESE, "th": THAI, "en": "oil rose"}
    commit(writer, [feed.upsert(key, text) for key, text in texts.items()])
    with writer.pin() as view:
        slots, _ = view.full_text(content_words(question), 10)
        numbers = {chunk.document for chunk in view.chunks(slots.tolist())}
        assert {view.documents([n])[n].id for n in numbers} == {found}


def test_a_name_without_spaces_stands_side_by_side(writer):
    commit(writer, [Feed().upsert("zh", CHINESE)])
    with writer.pin() as view:
        assert len(view.full_text(["图书馆"], 0)[0]) == 1
        assert len(view.full_text(["书馆图"], 0)[0]) == 0


def test_a_withdrawn_document_leaves_no_letter_behind(writer):
    feed = Feed()
    commit(writer, [feed.upsert("zh", CHINESE)])
    commit(writer, [feed.delete("zh")])
    with writer.pin() as view:
        assert len(view.full_text(["图书馆", "京", "大"], 0)[0]) == 0


def test_spaced_scripts_are_left_as_they_are():
    for text in ("The oil price", "Цены на нефть", "أسعار النفط", "\U0001f600"):
        assert spread(text) == text
        assert pieces(text) == [text]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("图书馆", ["图书", "书馆"]),
        ("Debianは", ["Debian"]),
        ("リリースはいつ", ["リリース"]),
        ("ひらがな", ["ひらがな"]),
        ("中", ["中"]),
    ],
)
def test_a_run_is_looked_up_by_its_parts(word, expected):
    assert pieces(word) == expected
