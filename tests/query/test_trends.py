"""Trends: against loops that anybody can follow, and over streams with something planted."""

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.types import Millis
from index.view import DocumentChange
from query.burst import dispersion, scored
from query.changes import Time, axis_of
from query.errors import BadFilterError, UnknownCommunityError
from query.news import Newsroom
from query.trends import LEAST_RECENT, LEAST_SCORE, Subject, TrendsAsked
from tests.query.small import stories

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = Millis(1_000 * DAY)
ROOM = Newsroom()
LASTING = TrendsAsked(since=Millis(NOW - DAY), until=NOW, window=Millis(7 * DAY))
CONCEPTS = ("strike", "comet", "port alder", "telmar", "monday")


def change(view, document_id, at, keys, kind="insert", event_at=None):
    numbers = np.array(sorted(view.vocabulary.number(key) for key in keys), np.int32)
    moment = at if event_at is None else event_at
    return DocumentChange(2, document_id, kind, Millis(at), Millis(moment), "wire", numbers)


def streamed(rng, names_at, per_hour=6, days=8):
    """A view over a stream of documents; ``names_at(hour before now)`` gives rates by key."""
    view, recorded = stories(), []
    for hour in range(days * 24, 0, -1):
        for at in range(per_hour):
            keys = [key for key, rate in names_at(hour).items() if rng.random() < rate]
            moment = NOW - hour * HOUR + at * 60_000
            recorded.append(change(view, f"{hour}/{at}", moment, keys))
    view.recorded = recorded
    return view


def found(view, asked=LASTING):
    return {trend.key: trend for trend in ROOM.trends(view, asked).trends}


def test_a_planted_burst_is_found_and_a_steady_frequent_concept_is_not():
    def rates(hour):
        return {"strike": 0.8, "monday": 0.3, "comet": 0.3 if hour <= 24 else 0.02}

    for seed in range(5):
        trends = ROOM.trends(streamed(np.random.default_rng(seed), rates), LASTING).trends
        assert trends[0].key == "comet", f"seed {seed}"
        assert {"strike", "monday"}.isdisjoint({trend.key for trend in trends if trend.score > 8})
        assert trends[0].growth > 3
        assert sum(trends[0].counts) == trends[0].recent + trends[0].past


def test_a_busier_stream_is_no_trend_of_everything():
    view, number = stories(), 0
    for hour in range(8 * 24, 0, -1):
        for _ in range(40 if hour <= 24 else 4):
            keys = ["strike"] if number % 2 else ["comet"]
            view.recorded.append(change(view, f"n{number}", NOW - hour * HOUR, keys))
            number += 1
    assert found(view) == {}


def test_what_always_comes_in_waves_must_rise_above_its_waves():
    """Every second day belongs to one concept; another comes today as the first time."""

    def waves(hour):
        wave = 0.5 if (hour - 1) // 24 % 2 == 0 else 0.0
        return {"strike": wave, "comet": 0.5 if hour <= 24 else 0.22, "monday": 0.5}

    trends = found(streamed(np.random.default_rng(1), waves))
    assert next(iter(trends)) == "comet"
    assert trends["comet"].score > 3 * trends["strike"].score
    assert trends["comet"].growth < trends["strike"].growth


def test_a_document_edited_again_and_again_counts_once_in_an_interval():
    view = stories()
    view.recorded = [change(view, f"p{n}", NOW - 5 * DAY + n, ["monday"]) for n in range(30)]
    at = NOW - 3 * HOUR
    view.recorded += [change(view, "one", at + n, ["comet"], "edit") for n in range(50)]
    view.recorded += [change(view, f"x{n}", at + n, ["telmar"]) for n in range(6)]
    trends = found(view)
    assert "comet" not in trends
    assert trends["telmar"].recent == 6


def test_a_document_withdrawn_in_the_interval_that_it_came_in_does_not_count():
    view = stories()
    view.recorded = [change(view, f"p{n}", NOW - 5 * DAY + n, ["monday"]) for n in range(30)]
    for n in range(6):
        view.recorded.append(change(view, f"x{n}", NOW - 3 * HOUR + n, ["telmar", "comet"]))
    for n in range(5):
        view.recorded.append(change(view, f"x{n}", NOW - 2 * HOUR + n, [], "delete"))
    assert ROOM.trends(view, LASTING).recent_documents == 1
    assert found(view) == {}


def test_the_newest_document_that_named_it_is_told():
    view = stories()
    view.recorded = [change(view, f"p{n}", NOW - 5 * DAY + n, ["monday"]) for n in range(30)]
    view.recorded += [change(view, "d4", NOW - n * HOUR, ["comet"]) for n in (9, 2)]
    view.recorded += [change(view, f"x{n}", NOW - 20 * HOUR + n, ["comet"]) for n in range(5)]
    newest = found(view)["comet"].newest
    assert (newest.document_id, newest.observed_at) == ("d4", NOW - 2 * HOUR)
    assert newest.title == view.document("d4").title


def test_event_time_looks_at_when_things_happened():
    view = stories()
    for n in range(40):  # all arrive at once, as a backfill does
        keys, day = (["comet"], 0) if n < 8 else (["monday"], 1 + n % 6)
        event = NOW - day * DAY - 2 * HOUR
        view.recorded.append(change(view, f"e{n}", NOW - HOUR, keys, event_at=event))
    assert found(view) == {}
    assert list(found(view, TrendsAsked(**{**fields(LASTING), "time": Time.EVENT}))) == ["comet"]


def fields(asked):
    return {name: getattr(asked, name) for name in asked.__slots__}


def test_communities_rise_with_the_documents_that_are_at_home_there():
    view = stories()
    home = int(view.snapshot.hierarchy.at_level(0)[view.vocabulary.number("comet")])
    view.recorded = [change(view, f"p{n}", NOW - 5 * DAY + n, ["strike"]) for n in range(30)]
    view.recorded += [change(view, f"x{n}", NOW - 3 * HOUR, ["comet", "telmar"]) for n in range(6)]
    asked = TrendsAsked(**{**fields(LASTING), "subject": Subject.COMMUNITY, "level": 0})
    trends = ROOM.trends(view, asked)
    assert [(trend.key, trend.recent, trend.past) for trend in trends.trends] == [(str(home), 6, 0)]
    assert trends.trends[0].growth is None
    assert "Comet" in trends.trends[0].label
    with pytest.raises(UnknownCommunityError):
        ROOM.trends(view, TrendsAsked(**{**fields(asked), "level": 9}))


def test_without_a_past_nothing_can_rise():
    view = stories()
    view.recorded = [change(view, f"x{n}", NOW - HOUR, ["comet"]) for n in range(50)]
    trends = ROOM.trends(view, LASTING)
    assert (trends.past_documents, trends.recent_documents, trends.trends) == (0, 50, ())


def test_an_empty_window_is_refused():
    for since, window in ((NOW, DAY), (NOW - DAY, 0)):
        with pytest.raises(BadFilterError):
            ROOM.trends(stories(), TrendsAsked(Millis(since), NOW, Millis(window)))


def test_a_half_life_weighs_what_is_old_less_and_changes_no_count():
    def rates(hour):  # it was frequent long ago, and comes back
        return {"comet": 0.3 if hour <= 24 or hour > 150 else 0.0, "monday": 0.5}

    view = streamed(np.random.default_rng(3), rates)
    plain = found(view)["comet"]
    short = found(view, TrendsAsked(**{**fields(LASTING), "half_life": Millis(DAY)}))["comet"]
    assert short.score > 1.5 * plain.score
    assert (short.counts, short.recent, short.past, short.expected) == (
        plain.counts, plain.recent, plain.past, plain.expected,
    )  # fmt: skip


def test_intervals_begin_a_recent_one_at_since_and_are_few():
    for recent, window in ((DAY, 7 * DAY), (HOUR, 30 * DAY), (60_000, 60_000), (DAY, 20_000 * DAY)):
        axis = axis_of(Millis(NOW - recent), NOW, Millis(window))
        assert axis.start + axis.past * axis.length == NOW - recent
        assert 0 < axis.past < axis.count <= 48
        assert axis.start <= NOW - recent - window < axis.start + axis.length


def test_the_score_is_twice_the_log_likelihood_ratio():
    counts, everything = np.array([[5, 5, 20]]), np.array([100, 100, 100])
    expected = 2 * (20 * math.log(20 / 10) + 10 * math.log(10 / 20))
    assert scored(counts, everything, np.ones(3), 2)[0] == pytest.approx(expected)
    assert dispersion(np.array([[9, 1]]), np.array([50, 50]))[0] == pytest.approx(6.4)


arrivals = st.lists(
    st.tuples(
        st.sampled_from([f"d{n}" for n in range(9)]),
        st.integers(-9 * 24, 0),
        st.sets(st.sampled_from(CONCEPTS), max_size=3),
        st.sampled_from(["insert", "edit", "delete"]),
    ),
    max_size=60,
)


def naive(recorded, asked, axis, half_life):
    """Score and counts by concept number, document by document."""
    last = {}
    for change in recorded:
        if asked.since - asked.window <= change.observed_at < asked.until:
            bar = (change.observed_at - axis.start) // axis.length
            last[change.document_id, bar] = change
    everything, counts = [0] * axis.count, defaultdict(lambda: [0] * axis.count)
    for (_, bar), change in last.items():
        if change.kind != "delete":
            everything[bar] += 1
            for number in change.concepts.tolist():
                counts[number][bar] += 1
    middles = [axis.start + (bar + 0.5) * axis.length for bar in range(axis.count)]
    weight = [0.5 ** (max(asked.until - m, 0) / half_life) if half_life else 1 for m in middles]
    scores = {n: naive_score(row, everything, weight, axis.past) for n, row in counts.items()}
    return {n: (score, counts[n]) for n, score in scores.items()}


def weighed(row, everything, weight):
    """The sum of a row by weight, scaled so that all documents keep their number."""
    total = sum(e * w for e, w in zip(everything, weight, strict=True))
    scale = sum(everything) / total if total else 0
    return scale * sum(c * w for c, w in zip(row, weight, strict=True))


def naive_score(row, everything, weight, past):
    a = weighed(row[past:], everything[past:], weight[past:])
    b = weighed(row[:past], everything[:past], weight[:past])
    now, before = sum(everything[past:]), sum(everything[:past])
    if not before or sum(row[past:]) < LEAST_RECENT or a * before <= b * now:
        return 0.0
    due = (a + b) * now / (now + before)
    value = 2 * (a * math.log(a / due) + (b * math.log(b / (a + b - due)) if b else 0))
    told = [(c, e) for c, e in zip(row[:past], everything[:past], strict=True) if e]
    total, documents = sum(c for c, _ in told), sum(e for _, e in told)
    square = sum((c - total * e / documents) ** 2 / (total * e / documents)
                 for c, e in told if total)  # fmt: skip
    return value / max(1, square / max(len(told) - 1, 1))


@settings(max_examples=60, deadline=None)
@given(arrivals, st.sampled_from([None, Millis(2 * DAY)]))
def test_scores_and_counts_equal_those_of_a_naive_model(given_arrivals, half_life):
    view = stories()
    view.recorded = [
        change(view, name, NOW + hour * HOUR - 1, keys, kind)
        for name, hour, keys, kind in given_arrivals
    ]
    asked = TrendsAsked(**{**fields(LASTING), "half_life": half_life})
    axis = axis_of(asked.since, asked.until, asked.window)
    expected = {
        view.vocabulary.key(number): (score, row)
        for number, (score, row) in naive(view.recorded, asked, axis, half_life).items()
        if score >= LEAST_SCORE
    }
    trends = found(view, asked)
    assert set(trends) == set(expected)
    for key, (score, row) in expected.items():
        assert trends[key].score == pytest.approx(score)
        assert list(trends[key].counts) == row
    scores = [trend.score for trend in trends.values()]
    assert scores == sorted(scores, reverse=True)
