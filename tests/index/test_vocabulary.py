"""Concepts by the words of their keys, over more of them than are searched as one text."""

from index.types import ConceptKey, ConceptKind
from index.vocabulary import Vocabulary

MANY = 20_000


def filled():
    vocabulary = Vocabulary()
    for number in range(MANY):
        ending = (" oil", " oil price", "oil", " spoiled")[number % 4]
        vocabulary.append(ConceptKey(f"k{number}{ending}"), ConceptKind.OTHER)
    return vocabulary


def test_a_phrase_finds_the_keys_that_hold_it_as_whole_words():
    vocabulary = filled()
    for phrase in ("oil", "oil price", "k9 oil price", "price k9", "k19999 spoiled", "absent"):
        for count in (0, 1, 4_000, 8_192, MANY, 4_001):
            keys = vocabulary.keys(range(count))
            expected = [n for n, key in enumerate(keys) if f" {phrase} " in f" {key} "]
            assert vocabulary.holding(phrase, count) == expected


def test_a_prefix_finds_the_first_keys_that_begin_with_it():
    vocabulary = filled()
    for prefix in ("", "k", "k1999", "k7 ", "oil", "K", " k", "\n", "k1\n k2"):
        for count in (0, 1, 4_000, MANY):
            keys = vocabulary.keys(range(count))
            expected = [n for n, key in enumerate(keys) if key.startswith(prefix)]
            assert vocabulary.starting_with(prefix, count, 50) == expected[:50]


def test_a_key_that_was_rolled_back_is_not_found_and_its_follower_is():
    vocabulary = filled()
    vocabulary.append(ConceptKey("lost name"), ConceptKind.OTHER)
    assert vocabulary.holding("name", MANY) == []
    assert vocabulary.holding("name", MANY + 1) == vocabulary.holding("lost", MANY + 1) == [MANY]
    vocabulary.truncate(MANY)
    vocabulary.append(ConceptKey("kept name"), ConceptKind.OTHER)
    assert vocabulary.holding("lost", MANY + 1) == []
    assert vocabulary.holding("name", MANY + 1) == [MANY]
