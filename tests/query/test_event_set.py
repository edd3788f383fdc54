"""The questions that the benchmark makes or keeps: what their rules let in."""

from tests.bench.events import MOST_STORIES, events
from tests.bench.reuters import answerable, unanswerable


def story(name, hour, *, topics=("cocoa",), people=(), orgs=("icco",), day=16):
    at = f"1987-03-{day:02}T{hour:02}:00:00Z"
    return {
        "id": name, "title": name, "text": name, "published_at": at,
        "topics": list(topics), "places": ["uk"], "people": list(people), "orgs": list(orgs),
    }  # fmt: skip


def grouped(stories, near=()):
    found = events({one["id"]: one for one in stories}, near)
    return sorted(sorted(one["id"] for one in event) for event in found)


def test_stories_with_all_labels_the_same_are_one_event_while_it_goes_on():
    on = [story("a", 1), story("b", 20), story("c", 8, day=18)]
    assert grouped([*on, story("d", 9, day=25)]) == [["a", "b", "c"]]


def test_a_label_more_or_no_person_and_organisation_is_no_event():
    assert grouped([story("a", 1), story("b", 2, topics=("cocoa", "sugar"))]) == []
    assert grouped([story("a", 1, orgs=()), story("b", 2, orgs=())]) == []
    assert grouped([story("a", 1, topics=()), story("b", 2, topics=())]) == []


def test_near_duplicates_are_one_event_whatever_their_labels():
    far = [story("a", 1, topics=()), story("b", 1, day=28), story("c", 2, day=28)]
    assert grouped(far, [("a", "b"), ("a", "gone")]) == [["a", "b", "c"]]


def test_a_subject_of_many_stories_is_no_event():
    assert grouped([story(str(n), n) for n in range(MOST_STORIES + 1)]) == []


def test_every_unanswerable_question_names_what_is_absent():
    absent = unanswerable()
    assert len(absent) == 50
    assert all(name.lower() in question.lower() for question, name in absent.items())
    assert len(set(answerable()) - set(absent)) == 30
