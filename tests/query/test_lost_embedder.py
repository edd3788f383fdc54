"""A question while the embedder is away: full text and concepts answer it."""

import pytest

from index.errors import EmbedderAwayError
from query.assessor import OfflineAssessor
from query.search import Engine
from query.types import Mode, Outcome, Question
from tests.query.memory import MemorySource
from tests.query.small import LANGUAGE, WordLanguage, stories

ASKED = "What wages did the dockers accept after the strike?"


class Deaf(WordLanguage):
    """Its embedder is away; ``asked`` counts the tries."""

    def __init__(self):
        self.asked = 0

    def embed_queries(self, texts):
        self.asked += 1
        raise EmbedderAwayError("the embedder cannot be reached")


def answer(language, mode=Mode.LAZY, text=ASKED):
    engine = Engine(MemorySource(stories()), language, OfflineAssessor())
    return engine.answer(Question(text, 20, mode))


@pytest.mark.parametrize("mode", [Mode.LAZY, Mode.HYBRID, Mode.BM25])
def test_full_text_answers_and_the_answer_says_so(mode):
    found = answer(Deaf(), mode)
    assert found.degraded == ("embedder",)
    assert found.outcome is Outcome.ANSWERED
    assert found.citations
    assert answer(LANGUAGE, mode).degraded == ()


def test_an_embedder_that_is_away_is_asked_once_a_question():
    deaf = Deaf()
    answer(deaf)
    assert deaf.asked == 1


def test_without_vectors_an_unknown_thing_still_has_no_record():
    assert answer(Deaf(), text="What did Zorblat say?").outcome is Outcome.NEVER_SEEN
