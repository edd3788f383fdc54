"""A set of questions over Reuters: headlines, and the other stories about the same event.

Nobody has judged which stories tell of one event; this is how it is read off the corpus:

1. Two stories are of one event where they are near-duplicates (``near_dups``: five-word shingles,
   Jaccard 0.6 and more), or where all human labels of both are the same (topics, places, people,
   organisations), at least one of them a topic and one a person or an organisation, and at most
   36 hours lie between one and the next with these labels.
2. Events of more than five stories are left out: their labels name a subject, not an event.
3. The question is the headline of one story, drawn by a seed: in lower case, for capitals alone
   say nothing about names, and without stock symbols. Its evidence is every other story whose
   headline shares less than half of its words with it; copies of the story and those with a
   headline like it would be found by anything, and are left out of the ranking with it.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from query.evaluate import JudgedQuery
from tests.bench.corpus import documents

REUTERS = "reuters21578.docs.jsonl.gz"
NEAR = "reuters21578.near_dups.jsonl.gz"
MOST_STORIES = 5
BETWEEN = timedelta(hours=36)
ALIKE = 0.5

_SYMBOL = re.compile(r"<[^>]*>")
_SEED = 0

Story: TypeAlias = Mapping[str, Any]


def questions() -> list[JudgedQuery]:
    """Every event's question, in the order of the stories that they were made from."""
    stories = {story["id"]: story for story in documents(REUTERS)}
    whole = {name: story for name, story in stories.items() if story["title"] and story["text"]}
    pairs = [(pair["a"], pair["b"]) for pair in documents(NEAR)]
    draw = random.Random(_SEED)
    asked = (_question(event, draw) for event in events(whole, pairs))
    return [query for query in asked if query is not None]


def events(
    stories: Mapping[str, Story], near: Iterable[tuple[str, str]]
) -> Iterator[Sequence[Story]]:
    """Groups of two to five stories; ``near`` are pairs of ids."""
    parent = {name: name for name in stories}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    joined = [(a, b) for a, b in near if a in parent and b in parent]
    for left, right in [*joined, *_same_labels(stories.values())]:
        parent[root(right)] = root(left)
    groups: dict[str, list[Story]] = defaultdict(list)
    for name, story in stories.items():
        groups[root(name)].append(story)
    return (group for group in groups.values() if 1 < len(group) <= MOST_STORIES)


def _same_labels(stories: Iterable[Story]) -> Iterator[tuple[str, str]]:
    """Each story with the one before it that has the same labels, where that is not long ago."""
    last: dict[str, Story] = {}
    for story in sorted(stories, key=lambda one: (one["published_at"], one["id"])):
        labels = [sorted(story[kind]) for kind in ("topics", "places", "people", "orgs")]
        if not labels[0] or not (labels[2] or labels[3]):
            continue
        key = json.dumps(labels)
        before = last.get(key)
        if before is not None and _at(story) - _at(before) <= BETWEEN:
            yield before["id"], story["id"]
        last[key] = story


def _at(story: Story) -> datetime:
    return datetime.fromisoformat(story["published_at"])


def _question(event: Sequence[Story], draw: random.Random) -> JudgedQuery | None:
    asked = draw.choice(event)
    title = " ".join(_SYMBOL.sub(" ", asked["title"]).lower().split())
    other = {story["id"] for story in event if _alike(asked["title"], story["title"]) < ALIKE}
    if not other:
        return None
    copies = {story["id"] for story in event} - other
    return JudgedQuery(title, frozenset(other), frozenset(copies))


def _alike(left: str, right: str) -> float:
    """Words of two headlines that are the same, of all in both."""
    a, b = (set(re.findall(r"\w+", _SYMBOL.sub(" ", title).lower())) for title in (left, right))
    return len(a & b) / len(a | b) if a | b else 1.0
