"""What a generation says of itself: its head with its totals, and what became of its records."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from index import admission
from index.admission import DocumentOutcome, Plan
from index.batch import Batch
from index.communities.live import LiveCommunities
from index.expiry import Window
from index.snapshot import Head, Totals
from index.types import Arrival, Millis, Rejected, Upsert


def window_of(length: Millis | None, head: Head) -> Window:
    """The window as it stands after a generation."""
    return Window(length, head.watermark or None)


def window_after(window: Window, plan: Plan) -> Window:
    """The window once a batch has arrived."""
    for admitted in plan.admitted:
        if isinstance(admitted.arrival.content, Upsert):
            window = window.after(admitted.arrival.content.document)
    return window


def newest_arrival(before: Head, plan: Plan) -> Millis:
    """When the newest record was observed, a batch included."""
    arrivals = [one.arrival for one in plan.admitted]
    observed = [admission.observed_at(a) for a in arrivals if not _is_rejected(a)]
    return Millis(max([before.newest_arrival, *observed]))


def next_head(
    before: Head,
    plan: Plan,
    batch: Batch,
    live: LiveCommunities,
    now: Millis,
    window: Window,
    due: int,
) -> Head:
    """The head of the generation that a batch makes.

    ``live``, ``window`` and ``due`` (documents that wait to expire) stand as after it.
    """
    late = sum(one.outcome is DocumentOutcome.LATE for one in plan.admitted)
    totals = _totals(before.totals, batch, live)
    return Head(
        generation=before.generation + 1,
        committed_at=now,
        watermark=window.watermark or before.watermark,
        newest_arrival=newest_arrival(before, plan),
        positions=_positions(before.positions, [one.arrival for one in plan.admitted]),
        totals=replace(totals, due=due, late=totals.late + late),
        horizon=window.horizon,
    )


def _positions(
    before: Mapping[tuple[str, int], int], arrivals: list[Arrival]
) -> dict[tuple[str, int], int]:
    positions = dict(before)
    for arrival in arrivals:
        at = arrival.record.position
        key = (at.topic, at.partition)
        positions[key] = max(positions.get(key, 0), at.offset + 1)
    return positions


def _totals(before: Totals, batch: Batch, live: LiveCommunities) -> Totals:
    counts = live.counts
    return replace(
        before,
        documents=before.documents + len(batch.inserted) - len(batch.withdrawn),
        chunks=before.chunks + len(batch.added) - len(batch.removed),
        expired=before.expired + len(batch.expired),
        concepts=int(np.count_nonzero(counts.f)),
        edges=counts.edge_count,
        frequency_sum=counts.F,
        weight_sum=counts.W,
        modularity=modularity_now(before.modularity, live.quality),
    )


def modularity_now(before: tuple[float, ...], top: float | None) -> tuple[float, ...]:
    """C0's modularity as it is now; that of the levels below as of the last full run."""
    return before if top is None else (top, *before[1:])


def _is_rejected(arrival: Arrival) -> bool:
    return isinstance(arrival.content, Rejected)


def outcomes(plan: Plan, failed: Mapping[str, Rejected]) -> dict[DocumentOutcome, int]:
    """How many records had each outcome; those whose analysis failed count as rejected."""
    counter = Counter(admitted.outcome for admitted in plan.admitted)
    for key in failed:
        counter[plan.final[key].outcome] -= 1
        counter[DocumentOutcome.REJECTED] += 1
    return dict(counter)


def reasons(plan: Plan, failed: Mapping[str, Rejected]) -> dict[str, int]:
    """How many records were rejected for each reason."""
    refused = [a.rejected for a in plan.admitted if a.rejected is not None]
    return dict(Counter(why.reason.value for why in [*refused, *failed.values()]))
