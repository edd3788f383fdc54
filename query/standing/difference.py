"""What changed between two answers: claims added, withdrawn, reworded, carried by others."""

from collections.abc import Callable, Sequence

from query.assessor import stems
from query.standing.types import Changes, Reworded, Told
from query.types import Answer, Outcome

SAME_DOCUMENT = 0.3
"""Two claims with a document in common say the same where they share this part of their words.

An edit that keeps a third of a sentence is still about the same thing; ours.
"""
ANY_DOCUMENT = 0.7
"""The same for claims of different documents; as for quotes within one answer."""

Key = tuple[str, frozenset[tuple[str, str]]]
Likeness = Callable[[Told, Told], float]


def told(answer: Answer) -> tuple[Told, ...]:
    """The claims of an answer with their sources; none where it has no record."""
    if answer.outcome is not Outcome.ANSWERED:
        return ()
    claims = (
        Told(claim.text, tuple(answer.citations[number - 1] for number in claim.citations))
        for claim in answer.claims
    )
    return tuple({key(claim): claim for claim in claims}.values())


def key(claim: Told) -> Key:
    """What makes two claims one: the words, and each source's document and quote.

    Places in a text are left out: an edit elsewhere in a document moves them.
    """
    return _words(claim), frozenset((source.document_id, source.quote) for source in claim.sources)


def difference(before: Sequence[Told], after: Sequence[Told]) -> Changes:
    """What leads from one set of claims to another; ``applied`` undoes no part of it."""
    held, wanted = {key(claim): claim for claim in before}, {key(claim): claim for claim in after}
    old = [claim for name, claim in held.items() if name not in wanted]
    new = [claim for name, claim in wanted.items() if name not in held]
    sourced = _paired(old, new, _same_words)
    old, new = _without(old, new, sourced)
    reworded = _paired(old, new, _alike)
    old, new = _without(old, new, reworded)
    return Changes(tuple(new), tuple(old), tuple(reworded), tuple(sourced))


def applied(before: Sequence[Told], changes: Changes) -> list[Told]:
    """The claims after some changes: what a subscriber who adds up all updates holds."""
    held = {key(claim): claim for claim in before}
    pairs = (*changes.reworded, *changes.sourced)
    for gone in (*changes.withdrawn, *(pair.before for pair in pairs)):
        del held[key(gone)]
    for come in (*changes.added, *(pair.after for pair in pairs)):
        held[key(come)] = come
    return list(held.values())


def _words(claim: Told) -> str:
    return " ".join(claim.text.split())


def _same_words(old: Told, new: Told) -> float:
    return float(_words(old) == _words(new))


def _alike(old: Told, new: Told) -> float:
    """How much two claims share, 0 where that is too little to be the same."""
    left, right = stems(old.text), stems(new.text)
    share = len(left & right) / max(len(left | right), 1)
    documents = {source.document_id for source in old.sources}
    common = any(source.document_id in documents for source in new.sources)
    return share if share >= (SAME_DOCUMENT if common else ANY_DOCUMENT) else 0.0


def _paired(old: list[Told], new: list[Told], likeness: Likeness) -> list[Reworded]:
    """Pairs that are alike, the most alike first, each claim in one of them at most."""
    ranked = sorted(
        (-share, left, right)
        for left, before in enumerate(old)
        for right, after in enumerate(new)
        if (share := likeness(before, after)) > 0
    )
    pairs: dict[int, int] = {}
    for _, left, right in ranked:
        if left not in pairs and right not in pairs.values():
            pairs[left] = right
    return [Reworded(old[left], new[right]) for left, right in pairs.items()]


def _without(
    old: list[Told], new: list[Told], pairs: Sequence[Reworded]
) -> tuple[list[Told], list[Told]]:
    gone, come = {key(p.before) for p in pairs}, {key(p.after) for p in pairs}
    return [c for c in old if key(c) not in gone], [c for c in new if key(c) not in come]
