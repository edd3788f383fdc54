"""One key for one concept."""

import pytest

from index.analysis.normalise import common_key, name_key, place_of, singular


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("companies", "company"),
        ("electrons", "electron"),
        ("taxes", "tax"),
        ("losses", "loss"),
        ("banks", "bank"),
        ("houses", "house"),
        ("prices", "price"),
        ("purchases", "purchase"),
        ("leases", "lease"),
        ("churches", "church"),
        ("tornadoes", "tornado"),
        ("shoes", "shoe"),
        ("abuses", "abuse"),
        ("campuses", "campus"),
        ("sizes", "size"),
        ("gases", "gas"),
        ("women", "woman"),
        ("crises", "crisis"),
        ("texas", "texas"),
        ("boss", "boss"),
        ("news", "news"),
        ("series", "series"),
        ("reuters", "reuters"),
        ("williams", "williams"),
        ("gas", "gas"),
        ("virus", "virus"),
        ("basis", "basis"),
        ("earnings", "earnings"),
        ("as", "as"),
    ],
)
def test_plurals_are_folded_and_names_are_not_cut(plural, expected):
    assert singular(plural) == expected


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("U.S.", "united states"),
        ("US", "united states"),
        ("The United States", "united states"),
        ("USSR", "soviet union"),
        ("The Electrons", "electron"),
        ("ELECTRONS", "electron"),
        ("electron's", "electron"),
        ("Standard Oil Co", "standard oil"),
        ("Standard Oil", "standard oil"),
        ("Texaco Inc.", "texaco"),
        ("Chicago Corp", "chicago corp"),
        ("Moody 's Investors Service", "moody investors service"),
        ("Johnson & Johnson", "johnson and johnson"),
        ("Chris - Craft", "chris-craft"),
        ("Reuters", "reuters"),
        ("Williams", "williams"),
        ("OPEC", "organization of petroleum exporting countries"),
    ],
)
def test_variants_of_a_name_share_a_key(written, key):
    assert name_key(written.split()) == key


def test_only_the_last_noun_of_a_phrase_is_folded():
    assert common_key(["Sales", "taxes"]) == "sales tax"


@pytest.mark.parametrize(
    ("word", "place"),
    [("japanese", "japan"), ("us", "united states"), ("paris", "paris"), ("oil", None)],
)
def test_adjectives_of_origin_name_their_place(word, place):
    assert place_of(word) == place
