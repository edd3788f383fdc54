"""Names kept in memory are those that the store tells, whatever came, went or was rewritten."""

from contextlib import ExitStack, closing
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from index.store.displays import Displays
from index.store.follower import Follower
from tests.index.simple import Feed, analysis, open_writer

words = st.sampled_from(["oil", "Oil", "OIL", "wheat", "Wheat", "rain"])
texts = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), max_size=3).map("\n".join)
steps = st.lists(
    st.lists(st.tuples(st.sampled_from("abcd"), st.none() | texts), min_size=1, max_size=3),
    min_size=1,
    max_size=8,
)


def spelled(document):
    """The analysis of a document, whose mentions are written as in its text."""
    plain = analysis(document)
    chunks = [
        replace(chunk, mentions=tuple(replace(m, form=written[m.key]) for m in chunk.mentions))
        for chunk in plain.chunks
        for text in [document.text[chunk.start : chunk.end]]
        for written in [{word.lower(): word for word in text.split()}]
    ]
    return replace(plain, chunks=tuple(chunks))


def told(source):
    """All names as a view with a memory tells them, and as one without does."""
    with source.pin() as view:
        everything = range(view.snapshot.concept_count)
        kept = view.displays(everything)
        view._displays = Displays()
        return kept, view.displays(everything)


@settings(max_examples=12)
@given(steps, st.lists(st.booleans(), min_size=8, max_size=8))
def test_names_are_those_of_the_generation(tmp_path_factory, batches, looked):
    with ExitStack() as stack:
        folder, feed = tmp_path_factory.mktemp("store"), Feed()
        writer = stack.enter_context(closing(open_writer(folder)))
        follower = None
        for batch, looks in zip(batches, looked, strict=False):
            arrivals = [
                feed.delete(key) if text is None else feed.upsert(key, text) for key, text in batch
            ]
            plan = writer.plan(arrivals)
            writer.commit(plan, {d.id: spelled(d) for d in plan.documents})
            follower = follower or stack.enter_context(closing(Follower.open(folder)))
            if looks:  # one that looks seldom takes several generations at once
                follower.refresh()
            for source in (writer, follower):
                kept, read = told(source)
                assert kept == read


def test_a_name_read_as_of_an_older_generation_is_not_kept():
    displays = Displays()
    displays.begin(1)
    displays.keep(1, {7: "Oil"})
    assert displays.known(1, [7, 8]) == {7: "Oil"}
    displays.begin(2)
    displays.keep(1, {7: "Oil"})
    assert displays.known(2, [7]) == displays.known(1, [7]) == {}


def test_names_are_bounded_in_number():
    displays = Displays(most=2)
    displays.begin(1)
    displays.keep(1, {1: "a", 2: "b"})
    displays.keep(1, {3: "c"})
    assert displays.known(1, [1, 2, 3]) == {3: "c"}
