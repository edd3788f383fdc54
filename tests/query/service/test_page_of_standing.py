"""Standing questions on the page: kept by keyboard, told, paused and removed."""

from contextlib import closing
from dataclasses import dataclass, replace

import pytest

from index.types import Millis
from query.standing.store import StandingStore
from query.standing.types import Changes, Interest, Told, Update
from query.types import Citation
from tests.query.service.conftest import QUESTION
from tests.query.service.fakes import Desk
from tests.query.service.small_index import NOW

HOSTILE = "<img src=x onerror=alert(1)> The bridge opened."
FOCUS = "document.activeElement.dataset.act"


@dataclass
class StandingDesk(Desk):
    """A service that keeps standing questions."""

    store: StandingStore | None = None

    def service(self):
        return replace(super().service(), standing=self.store)

    def tells(self, text):
        """An update of the only question, as an asking would leave it."""
        (one,) = self.store.all()
        source = Citation("harbour/1", "c", 0, 1, text, "Bridge", "City Desk", "", None, NOW)
        claim = Told(text, (source,))
        changes = Changes(added=(claim,), withdrawn=one.state.claims)
        update = Update(
            one.id, one.updates + 1, QUESTION, 1, Millis(NOW), "answered", text, (source,),
            (claim,), changes, 1, 0, 0, "offline",
        )  # fmt: skip
        state = replace(one.state, claims=(claim,), generation=1, asked_at=NOW, outcome="answered")
        self.store.asked(one, state, interest=Interest(), update=update, verdicts={}, due=False)


@pytest.fixture
def desk(tmp_path):
    with closing(StandingStore(tmp_path)) as store:
        yield StandingDesk(store=store)


def keep(visit):
    visit.page.wait_for_selector("#keep")
    visit.page.fill("#question", QUESTION)
    visit.page.focus("#keep")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#standing li")


def test_a_question_is_kept_by_keyboard_and_its_changes_are_told(visiting, desk):
    with visiting(desk) as visit:
        page = visit.page
        keep(visit)
        assert page.inner_text("#standing .title") == QUESTION
        assert "Kept" in page.inner_text("#standing-status")
        desk.tells(HOSTILE)
        page.wait_for_selector("#standing .facts >> text=1 claim")
        page.focus("[data-act^=changes]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#standing .changes .badge >> text=added")
        assert page.inner_text("#standing .changes q").strip('"\u201c\u201d') == HOSTILE
        desk.tells("The bridge is closed again.")
        page.wait_for_selector("#standing .changes .badge >> text=withdrawn")
        assert page.evaluate(FOCUS).startswith("changes")


def test_it_is_paused_resumed_and_removed(visiting, desk):
    with visiting(desk) as visit:
        page = visit.page
        keep(visit)
        page.click("[data-act^=pause]")
        page.wait_for_selector("#standing .badge >> text=paused")
        page.click("[data-act^=pause]")
        page.wait_for_selector("#standing .facts >> text=not asked yet")
        page.click("[data-act^=remove]")
        page.wait_for_selector("#standing li", state="detached")
        assert desk.store.all() == []


def test_without_a_question_in_the_box_it_says_what_is_missing(visiting, desk):
    with visiting(desk) as visit:
        visit.page.click("#keep")
        visit.page.wait_for_selector("#standing-status >> text=Type a question first.")
        assert visit.page.evaluate("document.activeElement.id") == "question"


def test_a_service_without_them_shows_no_such_section(visiting):
    with visiting(Desk()) as visit:
        visit.page.wait_for_selector(".card h3")
        assert visit.page.is_hidden("#standing-place")


def test_a_phone_needs_no_scrolling_sideways(visiting, desk):
    with visiting(desk, viewport={"width": 375, "height": 720}) as visit:
        keep(visit)
        desk.tells("A" * 300)
        visit.page.click("[data-act^=changes]")
        visit.page.wait_for_selector("#standing .changes q")
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 375
