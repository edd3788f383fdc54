"""Languages without a tagger: nouns and names without verbs, offsets, nothing fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.analysis.analyzer import Analyzer
from index.analysis.extraction import PlainExtractor
from index.analysis.pipelines import NONE, pipelines
from index.analysis.scripts import word_pattern
from index.analysis.settings import AnalyzerSettings
from index.analysis.stopwords import stop_words
from index.types import Analysis
from tests.index.analysis.documents import document

LANGUAGES = """
    en fr de ja sv es da it pt ru pl fi ko zh ca cs nl hu hr bg vi el tr uk sk nb ro ar fa id gl
    th he hi ta km xx
""".split()  # noqa: SIM905  # easier to read
SNIPPETS = st.sampled_from(
    [
        "Die Bundesbank senkte die Zinsen. ",
        "L'usine de Lyon a été fermée. ",
        "Банк России снизил ставку. ",
        "صدر نظام التشغيل دبيان. ",
        "\u200f\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd. ",
        "日本銀行は金利を下げた。",
        "中国人民银行降息。",
        "ธนาคารแห่งประเทศไทย ",
        "हिन्दी में समाचार। ",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06a9\u062a\u0627\u0628 ",
        "e\u0301te\u0301 cafe\u0301 ",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f600 ",
        "\U00020000\U00020001 ",
        "\u202eright\u202c ",
        "\n",
        "5,5 % ",
    ]
)


@pytest.fixture(scope="module")
def analyzer():
    return Analyzer(AnalyzerSettings())


def keys(lang, text):
    return [mention.key for mention in PlainExtractor(lang).mentions([text])[0]]


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        (
            "de",
            "Gestern hat die Polizei in Bremen ein Haus durchsucht.",
            {"polizei", "bremen", "haus"},
        ),
        ("fr", "Hier, la police de Lyon a fouillé l'usine.", {"police", "lyon", "usine"}),
        ("es", "La policía encontró los barcos en Cádiz.", {"policía", "barco", "cádiz"}),
        ("ru", "Вчера полиция нашла новые корабли в порту Одессы.", {"порт", "одессы"}),
        ("sv", "Polisen sökte igenom huset i Malmö.", {"malmö"}),
        ("ko", "경찰이 부산에서 공장을 수색했다.", {"경찰", "부산", "공장"}),
        ("ja", "警察は工場を捜索した。サーバが止まった。", {"警察", "工場", "サーバ"}),
        ("zh", "工人昨天离开了北京大学的图书馆。", {"工人", "北京大学", "图书馆"}),
        ("ar", "وجدت الشرطة السفينة في الميناء", {"شرط", "سفين", "ميناء"}),
    ],
)
def test_nouns_and_names_are_concepts_and_verbs_are_not(lang, text, expected):
    assert set(keys(lang, text)) == expected


def test_inflected_forms_of_a_noun_share_a_key():
    assert keys("ru", "для пакета") == keys("ru", "без пакетов") == ["пакет"]
    assert keys("es", "con la versión") == keys("es", "de las versiones") == ["versión"]


def test_an_inflected_name_is_the_name_where_the_text_has_both():
    assert keys("pl", "to Debian, bez Debiana") == ["debian", "debian"]


def test_a_capital_that_a_sentence_gave_is_no_name():
    assert "danach" not in keys("de", "Er ging. Danach kam Anna Weber.")
    assert keys("it", "Ieri Anna vide Roma. Roma piacque.") == ["anna", "roma", "roma"]


def test_a_phrase_of_common_words_is_one_where_it_comes_twice():
    text = "la dette publique monte, et la dette publique"
    assert keys("fr", text).count("dette publique") == 2
    assert "dette publique" not in keys("fr", "la dette publique monte")


@pytest.mark.parametrize("lang", ["de", "nb", "gl", "uk", "zh", "hr"])
def test_stop_words_are_known(lang):
    assert len(stop_words(lang)) > 100


def test_a_word_keeps_its_marks_and_joiners():
    for word in (
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "cafe\u0301",
        "GNU/Linux",
        "instal\u00b7laci\xf3",
    ):
        assert [m[0] for m in word_pattern().finditer(word)] == [word]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LANGUAGES), st.lists(SNIPPETS | st.text(max_size=30), max_size=30))
def test_offsets_hold_in_every_language_and_script(analyzer, lang, parts):
    text = "".join(parts)
    [result] = analyzer.analyze([document(text, lang=lang, title=text[:40])])
    if not isinstance(result, Analysis):
        assert not text.strip() or not any(map(str.isprintable, text))
        return
    at = 0
    for chunk in result.chunks:
        inside = text[chunk.start : chunk.end]
        assert at <= chunk.start < chunk.end <= len(text)
        assert inside == inside.strip()
        assert all(chunk.start <= f.start < f.end <= chunk.end for f in chunk.facets)
        for mention in chunk.mentions:
            folded = inside.casefold()
            assert all(part.casefold() in folded for part in mention.form.split())
        at = chunk.end


def test_a_question_is_read_in_its_language(analyzer):
    found = {m.key for m in analyzer.concepts_of("Wer hat das Reliquiar in Tollhaven gestohlen?")}
    assert found == {"reliquiar", "tollhaven"}
    assert "图书馆" in {m.key for m in analyzer.concepts_of("图书馆什么时候开放")}


def test_a_pipeline_that_is_not_installed_is_refused_by_name():
    with pytest.raises(ValueError, match="qq_core_news_sm"):
        pipelines({"qq": "qq_core_news_sm"})
    assert "de" not in pipelines({"de": NONE})
