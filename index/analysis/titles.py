"""Concepts of titles: capitals tell nothing there, and a short title is a name itself."""

import re
from collections.abc import Iterable, Sequence

from index.analysis.lexicon import words
from index.analysis.normalise import common_key, fold, name_key
from index.types import ConceptKey, ConceptKind, Mention

SHORT_TITLE = 6
"""A title of at most so many words is a concept as a whole: other texts name it."""
SHORT_HEADLINE = 2
"""The same for a headline in capitals, which is a sentence rather than a name."""
_LONGEST_KEY = 6
_MOST_TOKENS = 40
_NOISE = words("alone") | words("noise") | words("breaks")
_TICKER = re.compile(r"<[^<>]{0,12}>?")


def readable_title(title: str) -> str:
    """The title for the tagger: without tickers, in lower case where it is in capitals only."""
    if not is_shouted(title):
        return title
    return _TICKER.sub(" ", title).lower()


def is_shouted(title: str) -> bool:
    """Whether a title is written in capitals, so that its case says nothing."""
    return title.isupper() and " " in title.strip()


def title_mentions(
    title: str, found: Iterable[Mention], body: Iterable[Sequence[Mention]]
) -> list[Mention]:
    """The title's concepts: those of the body that it names, those of its phrases, itself.

    ``found`` are the concepts of ``readable_title(title)``, ``body`` those of the chunks; a
    concept of the body that the title names comes with the form and kind that it has there, and
    no phrase made of its words alone stands beside it.
    """
    shouted = is_shouted(title)
    tokens = (_TICKER.sub(" ", title) if shouted else title).split()
    known = {mention.key: mention for chunk in body for mention in chunk}
    named = _named(tokens, known)
    covered = {fold(word) for mention in named for word in mention.form.split()}
    others = (
        known.get(mention.key, mention)
        for mention in found
        if mention.key in known or not covered.issuperset(map(fold, mention.form.split()))
    )
    mentions = [*named, *others]
    whole = _whole(tokens, SHORT_HEADLINE if shouted else SHORT_TITLE)
    if whole is not None:
        mentions.append(known.get(whole.key, whole))
    return mentions


def _named(tokens: Sequence[str], known: dict[ConceptKey, Mention]) -> list[Mention]:
    """Concepts of the body that runs of the title's words name, the longest first."""
    parts = _parts(tokens)
    named: list[Mention] = []
    start = 0
    while start < len(parts):
        for end in range(min(start + _LONGEST_KEY, len(parts)), start, -1):
            run = parts[start:end]
            mention = known.get(ConceptKey(name_key(run))) or known.get(ConceptKey(common_key(run)))
            if mention is not None:
                named.append(mention)
                start = end
                break
        else:
            start += 1
    return named


def candidate_keys(text: str) -> list[ConceptKey]:
    """The keys that runs of a short text's words could be stored under, longest runs first.

    For looking up by name what the tagger does not see, such as names in lower case.
    """
    parts = _parts(text.split())
    keys: dict[ConceptKey, None] = {}
    for length in range(min(_LONGEST_KEY, len(parts)), 0, -1):
        for start in range(len(parts) - length + 1):
            run = parts[start : start + length]
            keys[ConceptKey(name_key(run))] = None
            keys[ConceptKey(common_key(run))] = None
    return list(keys)


def _parts(tokens: Sequence[str]) -> list[str]:
    """Words without the marks around them."""
    stripped = (token.strip("<>()[],;:!?\"'") for token in tokens[:_MOST_TOKENS])
    return [part for part in stripped if part]


def _whole(tokens: Sequence[str], longest: int) -> Mention | None:
    if not 0 < len(tokens) <= longest:
        return None
    parts = [part for part in (token.strip("<>,;:!?\"'") for token in tokens) if part]
    if not parts or (len(parts) == 1 and fold(parts[0]) in _NOISE):
        return None
    key = name_key(parts)
    if not any(map(str.isalpha, key)):
        return None
    return Mention(ConceptKey(key), " ".join(tokens), ConceptKind.OTHER)
