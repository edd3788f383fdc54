"""Which concepts keep their communities over a batch, and what moved the others."""

import statistics
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from index.communities.dynamic import DynamicCommunities
from index.communities.hierarchy import Hierarchy
from index.types import Delta, Int64Array
from tests.bench.table import Row


@dataclass(frozen=True, slots=True)
class Before:
    """What is looked at before a batch."""

    hierarchy: Hierarchy
    bucket: np.ndarray

    @classmethod
    def of(cls, live: DynamicCommunities) -> "Before":
        """A copy of what the batch will change."""
        return cls(live.hierarchy, live._state.bucket.copy())


@dataclass(frozen=True, slots=True)
class Kept:
    """Shares of some concepts that kept their C0, are in what was their leaf, have it still.

    Who is in what was their leaf, and has another, was moved by a split for the size limit.
    """

    top: float
    home: float
    leaf: float


@dataclass(frozen=True, slots=True)
class Stability:
    """``quiet``: share of the concepts not named by a batch about which nothing changed.

    They are not named, and no neighbour of theirs crossed into another bucket of frequency, which
    would change the weights of its ties. ``still``: of those; ``unnamed``: of all not named.
    """

    quiet: float
    still: Kept
    unnamed: Kept


def stability(before: Before, live: DynamicCommunities, delta: Delta) -> Stability:
    """Look at a batch that was just applied."""
    placed = np.flatnonzero(before.hierarchy.leaf != Hierarchy.NONE)
    unnamed = np.setdiff1d(placed, delta.concepts)
    known = len(before.bucket)
    crossed = np.flatnonzero(live._state.bucket[:known] != before.bucket)
    near = np.zeros(live._counts.concept_count, np.bool_)
    for concept in crossed.tolist():
        near[live._counts.neighbours(concept)[0]] = True
    quiet = unnamed[~near[unnamed]]
    now = live.hierarchy
    return Stability(
        len(quiet) / max(len(unnamed), 1),
        kept(before.hierarchy, now, quiet),
        kept(before.hierarchy, now, unnamed),
    )


def kept(before: Hierarchy, now: Hierarchy, concepts: Int64Array) -> Kept:
    """What some concepts, all in a community before, kept."""
    home = before.leaf[concepts]
    rows = np.stack([now.at_level(level)[concepts] for level in range(now.depth)])
    top = rows[0] == before.at_level(0)[concepts]
    still = (rows == home).any(axis=0)
    return Kept(float(top.mean()), float(still.mean()), float((now.leaf[concepts] == home).mean()))


def rows(name: str, seen: Sequence[Stability]) -> list[Row]:
    """Medians over batches; the target is for concepts about which nothing changed."""
    quiet = 100 * statistics.median(one.quiet for one in seen)
    told = [Row(f"{name}: of those not named, no tie changed either", quiet, "percent")]
    for who, of, target in (
        ("nothing changed", [one.still for one in seen], ">= 99.9"),
        ("not named", [one.unnamed for one in seen], ""),
    ):
        top, home, leaf = (100 * statistics.median(v) for v in zip(*map(astuple, of), strict=True))
        told += [
            Row(f"{name}: {who}, kept their C0", top, "percent", target),
            Row(f"{name}: {who}, are in what was their leaf", home, "percent", target),
            Row(f"{name}: {who}, and it was not split for its size", leaf, "percent"),
        ]
    return told
