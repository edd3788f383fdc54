"""What the terminal shows, hostile texts included."""

import io

import pytest
from rich.console import Console

from deploy.cli import show
from deploy.cli.descent import show_lineage

CITATION = {
    "document_id": "d1",
    "chunk_id": "c1",
    "start": 0,
    "end": 10,
    "quote": "The bridge [bold]opened[/bold]. \x1b[2J",
    "title": "Bridge\x1b]0;owned\x07 \u202eopened",
    "source": "Gazette",
    "url": "https://gazette.example/1",
    "published_at": "2026-11-02T06:05:00Z",
    "observed_at": "2026-11-02T06:09:00Z",
}
STAGE = {
    "calls": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "relevance_tests": 12,
    "remembered": 0,
    "seconds": 0.1,
}
ANSWER = {
    "question": "Who opened the bridge?",
    "answer": "The mayor did [1].",
    "outcome": "answered",
    "stopped": "nothing_left",
    "citations": [CITATION],
    "claims": [],
    "ledger": {"test": STAGE},
    "budget": 100,
    "assessor": "offline",
    "mode": "lazy",
    "generation": 4,
    "positions": [],
}


@pytest.fixture
def out() -> Console:
    return Console(file=io.StringIO(), markup=False, emoji=False, highlight=False, width=200)


def shown(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_an_answer_shows_sources_quotes_and_cost(out: Console) -> None:
    show.answer(out, ANSWER)
    text = shown(out)
    assert "The mayor did [1]." in text
    assert "Gazette" in text
    assert "2026-11-02 06:05" in text
    assert "12 of 100 relevance tests" in text
    assert "no language model was used" in text


def test_texts_cannot_steer_the_terminal(out: Console) -> None:
    """Neither by escape sequences nor by rich's own markup or by reversing the order."""
    show.answer(out, ANSWER)
    text = shown(out)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]opened[/bold]" in text


def test_a_status_that_is_not_known_says_so(out: Console) -> None:
    body = {
        "generation": 4,
        "documents": 1234,
        "chunks": 2,
        "concepts": 3,
        "edges": 4,
        "communities": {"0": 3, "1": 8},
        "modularity": {"0": 0.5},
        "positions": [{"topic": "news", "partition": 0, "offset": 12}],
        "lag": None,
        "freshness_seconds": None,
        "newest_arrival": None,
    }
    show.status(out, body, "the store in data")
    text = shown(out)
    assert "1,234" in text
    assert "C0: 3, C1: 8" in text
    assert "news[0]: 12" in text
    assert text.count("not known") == 2


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"generation": None, "problem": ""}, "none"),
        ({"generation": None, "problem": "it is damaged"}, "none; it is damaged"),
        (
            {"generation": 1234, "bytes": 5 << 20, "current": True, "problem": ""},
            "of generation 1,234, 5 MiB, written 2026-11-02 06:05 UTC; a start would use it",
        ),
        (
            {"generation": 12, "bytes": 1 << 20, "current": False, "problem": "full"},
            "of generation 12, 1 MiB, written 2026-11-02 06:05 UTC; a start would count anew; full",
        ),
    ],
)
def test_a_status_tells_of_the_checkpoint(state, told):
    assert show._checkpoint(state | {"written_at": "2026-11-02T06:05:00Z"}) == told


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (None, "searched exactly"),
        ({}, "edge, 2 generations behind, 1,234 points"),
        (
            {"building": True, "points": None},
            "edge, 2 generations behind; builds its graph, searched exactly meanwhile",
        ),
        ({"problem": "no room"}, "edge, searched exactly for now: no room"),
        ({"generation": None}, "edge, nothing there yet"),
    ],
)
def test_a_status_tells_of_the_vector_index(state, told):
    known = {"index": "edge", "generation": 7, "lag": 2, "points": 1234, "problem": ""}
    assert show._vectors(None if state is None else known | {"building": False} | state) == told


def test_news_of_an_unknown_concept_says_that_there_is_none(out: Console) -> None:
    show.news(out, {"about": "Atlantis", "matched": [], "stories": []})
    assert shown(out) == "No concept of the name Atlantis is in the index.\n"


def test_news_tell_first_source_others_and_withdrawals(out: Console) -> None:
    def brief(name: str, change: str = "insert") -> dict[str, str]:
        return {
            "document_id": name,
            "title": f"Title of {name}",
            "source": "Wire",
            "url": "",
            "observed_at": "2026-11-02T06:09:00Z",
            "event_at": "2026-11-02T06:09:00Z",
            "change": change,
        }

    story = {
        "community": "3",
        "level": 0,
        "concepts": ["bridge", "harbour"],
        "first": brief("a"),
        "other_sources": ["Courier"],
        "documents": [brief("a"), brief("b", "delete")],
        "document_count": 2,
        "inserts": 2,
        "edits": 0,
        "withdrawals": 1,
        "newest_at": "2026-11-02T07:00:00Z",
        "quote": CITATION,
    }
    body = {
        "about": None,
        "matched": [],
        "since": "2026-11-02T00:00:00Z",
        "changes": 3,
        "stories_count": 1,
        "stories": [story],
    }
    show.news(out, body)
    text = shown(out)
    assert "3 changes in 1 stories since 2026-11-02 00:00 UTC" in text
    assert "first: Title of a" in text
    assert "then: Courier" in text
    assert "b (withdrawn)" in text


def test_checks_name_what_failed(out: Console) -> None:
    show.checks(out, [("counts", True, "5 = 5"), ("forms", False, "differ")])
    assert shown(out).splitlines() == ["ok    counts  5 = 5", "FAIL  forms   differ"]


def test_a_follower_tells_how_far_it_is_behind() -> None:
    state = {
        "writer": "http://writer:8321",
        "behind_generations": 1_200,
        "behind_seconds": 61.24,
        "fetching": True,
        "problem": "http://writer:8321 cannot be read",
    }
    ((name, text),) = show._follows(state)
    assert name == "follows"
    assert text == (
        "http://writer:8321, behind 61.2 s and 1,200 generations; a whole copy is on its way; "
        "http://writer:8321 cannot be read"
    )
    assert show._follows(None) == []


def test_a_line_of_descent_tells_every_kind_of_event():
    kinds = ("decline", "growth", "merge", "split", "death", "birth")
    event = {"generation": 9, "community": 4, "related": 7, "shared": 3}
    events = [event | {"kind": kind} for kind in kinds]
    body = {"id": 4, "level": 0, "size": 3, "born": 2, "died": None, "more": False}
    out = io.StringIO()
    console = Console(file=out, width=100)
    show_lineage(console, body | {"came_from": [7], "became": [], "events": events})
    told = [line.split("  ")[-1] for line in out.getvalue().splitlines() if line.startswith("  ")]
    assert told == [
        "4 declined to 3 concepts",
        "4 grew to 3 concepts",
        "4 went into 7, with 3 concepts",
        "4 came out of 7, with 3 of its concepts",
        "4 ended; none of its 3 concepts went on together",
        "4 was born with 3 concepts",
    ]
