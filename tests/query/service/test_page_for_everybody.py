"""The page for all readers: languages, keyboards, screen readers, preferences, small means."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from index.types import Millis
from index.view import DocumentChange
from query.service.status import FollowStatus, Operations
from tests.query.service.fakes import Desk
from tests.query.service.small_index import HOUR, ITEMS, NOW, FakeIndex, Item

CHINESE = Item(
    "port/zh",
    "\u6e2f\u53e3\u5927\u6865\u5173\u95ed",
    "\u68c0\u67e5\u5458\u5468\u4e00\u5173\u95ed\u4e86\u6e2f\u53e3\u5927\u6865\u3002"
    "\u7b2c\u4e8c\u8de8\u53d1\u73b0\u4e86\u88c2\u7f1d\u3002" * 12,
    "\u6e2f\u53e3\u62a5",
    ("harbour bridge",),
    1,
    0.5,
    lang="zh",
)
LATIN_IN_ARABIC = replace(
    ITEMS[3],
    id="vineyard/ar-2",
    title="\u0623\u0639\u0644\u0646\u062a Ostrel Wireworks \u0639\u0646",
    hours=0.4,
)


def rising():
    """A desk whose newest documents name a concept that the older ones do not."""
    desk = Desk()
    number = desk.index.snapshot.vocabulary.number
    named = [("frost", n / 2) for n in range(1, 9)] + [("ferry", 20 + 6 * n) for n in range(20)]
    desk.index.withdrawn = tuple(
        DocumentChange(
            8, f"{concept}/{hours}", "insert", at, at, "Wire", np.array([number(concept)], np.int32)
        )
        for concept, hours in reversed(named)
        for at in [Millis(NOW - int(hours * HOUR))]
    )
    return desk


OPENED = "#source-panel .text"
FOCUS = "document.activeElement"


def test_arabic_runs_from_right_to_left_in_lists_and_in_the_source(visiting):
    with visiting(Desk(index=FakeIndex((*ITEMS, LATIN_IN_ARABIC)))) as visit:
        link = visit.page.locator("#arriving a[lang=ar]", has_text="Ostrel")
        assert link.evaluate("e => getComputedStyle(e).direction") == "rtl"
        assert link.evaluate("e => getComputedStyle(e).textAlign") == "start"
        link.click()
        text = visit.page.wait_for_selector(f"{OPENED}[lang=ar] p")
        assert text.evaluate("e => getComputedStyle(e).direction") == "rtl"
        edges = visit.page.evaluate(
            "() => { const panel = document.querySelector('#source-panel');"
            " return [panel.scrollWidth, panel.clientWidth]; }"
        )
        assert edges[0] == edges[1]


def test_chinese_wraps_and_says_its_language(visiting):
    desk = Desk(index=FakeIndex((*ITEMS, CHINESE)))
    with visiting(desk, viewport={"width": 375, "height": 720}) as visit:
        visit.page.locator("#arriving a[lang=zh]").click()
        text = visit.page.wait_for_selector(f"{OPENED}[lang=zh]")
        assert text.inner_text() == CHINESE.text
        assert text.evaluate("e => getComputedStyle(e).direction") == "ltr"
        assert text.evaluate("e => e.scrollWidth <= e.clientWidth && e.clientHeight > 100")


def test_quotes_say_their_language(visiting):
    items = (ITEMS[0], replace(ITEMS[1], lang="de"), *ITEMS[2:])
    with visiting(Desk(index=FakeIndex(items))) as visit:
        visit.ask_by_keyboard()
        assert visit.answer.locator("blockquote[lang=de]").count() == 1


def test_the_first_tab_skips_to_the_content(visiting):
    with visiting(Desk()) as visit:
        visit.page.keyboard.press("Tab")
        skip = visit.page.locator(".skip")
        assert skip.evaluate("e => e === document.activeElement")
        assert skip.bounding_box()["y"] >= 0
        visit.page.keyboard.press("Enter")
        visit.page.keyboard.press("Tab")
        assert visit.page.evaluate(f"{FOCUS}.id") == "question"


def test_whatever_has_the_focus_shows_it(visiting):
    with visiting(rising()) as visit:
        page = visit.page
        page.wait_for_selector(".trends li")
        page.focus("#question")
        unseen = []
        for _ in range(25):
            page.keyboard.press("Tab")
            shown = page.evaluate(
                "() => { const e = document.activeElement; if (e === document.body) return null;"
                " const seen = e.matches('input[type=radio]') ? e.nextElementSibling : e;"
                " return [seen.outerHTML.slice(0, 80), getComputedStyle(seen).outlineStyle]; }"
            )
            if shown is not None and shown[1] == "none":
                unseen.append(shown[0])
        assert unseen == []


def test_every_view_has_landmarks_and_one_heading_that_takes_the_focus(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.wait_for_selector(".card h3")
        for mark in ("header", "nav", "main", "footer", "aside"):
            assert page.locator(mark).first.is_visible(), mark
        for view, place in (
            ("#/story/1", "#view-detail"),
            ("#/operations", "#view-operations"),
            ("#/concept/ferry", "#view-detail"),
        ):
            page.evaluate("hash => { location.hash = hash }", view)
            page.wait_for_selector(f"{place}:not([hidden]) h1:focus")
            assert page.locator("h1:visible").count() == 1, view


def test_controls_and_pictures_have_names(visiting):
    with visiting(rising()) as visit:
        page = visit.page
        page.wait_for_selector(".trends li")
        nameless = page.evaluate(
            "() => [...document.querySelectorAll('a, button, select, textarea, svg, img')]"
            ".filter(e => !e.closest('[hidden], dialog:not([open])'))"
            ".filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-hidden')"
            " || e.textContent.trim() || e.labels?.length || e.getAttribute('alt') !== null))"
            ".map(e => e.outerHTML.slice(0, 80))"
        )
        assert nameless == []


def test_a_screen_reader_is_told_of_the_search_and_of_the_answer(visiting):
    desk = Desk()
    desk.engine.gate = threading.Event()
    with visiting(desk) as visit:
        status = visit.page.locator("#ask-status[role=status][aria-live=polite]")
        visit.ask_by_keyboard()
        visit.page.wait_for_selector("#ask-status >> text=Searching.")
        desk.engine.gate.set()
        assert visit.answer.get_attribute("aria-busy") is None
        said = status.inner_text()
        assert said.startswith("The answer is there, with 2 sources: A crack was found")


def test_nothing_moves_for_who_wants_it_so(visiting):
    with visiting(Desk(), reduced_motion="reduce") as visit:
        visit.page.wait_for_selector("#arriving li")
        assert visit.page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visiting, scheme):
    """At least 4.5 to 1, as WCAG 2.2 asks of small text."""
    with visiting(Desk(), color_scheme=scheme) as visit:
        visit.page.wait_for_selector(".card h3")
        found = visit.page.evaluate(CONTRASTS)
        assert {k: round(v, 2) for k, v in found.items() if v < 4.5} == {}
        assert len(found) == 12


CONTRASTS = """() => {
  const probe = document.createElement('i');
  document.body.append(probe);
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    probe.style.color = style.getPropertyValue('--' + name);
    const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const [r, g, b] = parts.map((p) => p / 255)
      .map((p) => (p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [['ink', 'paper'], ['ink', 'sheet'], ['soft', 'paper'], ['soft', 'sheet'],
    ['sea', 'paper'], ['sea', 'sea-soft'], ['on-sea', 'sea'], ['rise', 'rise-soft'],
    ['rise', 'paper'], ['gone', 'gone-soft'], ['ink', 'mark'], ['ink', 'rise-soft']];
  const found = {};
  for (const [a, b] of pairs) {
    const [x, y] = [light(a), light(b)];
    found[`${a} on ${b}`] = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  }
  probe.remove();
  return found;
}"""


def test_the_page_does_not_jump_while_it_loads(visiting):
    with visiting(rising(), viewport={"width": 1280, "height": 860}) as visit:
        visit.page.wait_for_selector(".trends li")
        visit.page.wait_for_selector("#arriving li")
        shift = visit.page.evaluate(
            "() => new Promise((tell) => { let sum = 0; new PerformanceObserver((list) => {"
            " for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; })"
            ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => tell(sum), 300); })"
        )
        assert shift < 0.1


def test_an_answer_without_a_part_says_what_stood_in(visiting):
    desk = Desk()
    desk.engine.degraded = ("vectors",)
    with visiting(desk) as visit:
        visit.ask_by_keyboard()
        note = visit.answer.locator("[role=note]").inner_text()
        assert note.startswith("Degraded. The vector index could not be reached")


def test_an_empty_index_says_that_nothing_has_arrived(visiting):
    with visiting(Desk(index=FakeIndex(()))) as visit:
        page = visit.page
        page.wait_for_selector("#stories .empty")
        assert "Nothing has arrived yet." in page.inner_text(".arriving")
        assert page.locator(".ghost").count() == 0
        assert "Nothing rises" in page.inner_text("#trends")


def test_a_service_that_went_away_is_told_and_found_again(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.wait_for_selector("#arriving li")
        page.route("**/v1/**", lambda route: route.abort())
        page.wait_for_selector("#pulse[data-state=away] >> text=not reachable")
        page.unroute("**/v1/**")
        page.wait_for_selector("#pulse[data-state=live]")
        visit.wrong.clear()  # the browser itself notes what could not be fetched


def test_a_story_shows_one_source_or_only_what_was_changed(visiting):
    desk = Desk()
    ferry = np.array([desk.index.snapshot.vocabulary.number("ferry")], np.int32)
    desk.index.withdrawn = (
        DocumentChange(8, "harbour/0", "delete", NOW, NOW, "Port Wire", ferry),
        DocumentChange(8, "harbour/2", "edit", NOW, NOW, "Port Wire", ferry),
    )
    with visiting(desk) as visit:
        page = visit.page
        page.evaluate("location.hash = '#/story/1'")
        page.wait_for_selector(".timeline li")
        assert page.locator(".timeline li").count() == 3
        assert page.locator(".figures .is-withdrawals dd").inner_text() == "1"
        page.get_by_role("button", name="Edits and withdrawals").click()
        assert page.locator(".timeline li").count() == 2
        assert page.locator(".timeline s").inner_text() == "harbour/0"
        page.get_by_role("button", name="All").click()
        page.get_by_role("button", name="City Desk").click()
        assert page.locator(".timeline li").count() == 1


def test_trends_lead_to_their_concept(visiting):
    with visiting(rising()) as visit:
        page = visit.page
        page.click(".trends a >> nth=0")
        page.wait_for_selector("#view-detail h1:focus")
        assert page.locator("#view-detail .wide svg[role=img]").count() == 1


def test_operations_say_first_whether_all_is_well(visiting):
    desk = Desk()
    with visiting(desk) as visit:
        page = visit.page
        page.evaluate("location.hash = '#/operations'")
        page.wait_for_selector(".verdict[data-state=well]")
        desk.operations = Operations(degraded=("vectors",), dead_letters_pending=3)
        page.wait_for_selector(".verdict[data-state=worried] >> text=vectors")
        assert "3 rejected records" in page.inner_text(".verdict")
        copy = FollowStatus("http://writer", 9, 4, 61.5, fetching=True, problem="it is away")
        desk.operations = Operations(degraded=("writer",), follows=copy)
        page.wait_for_selector(".verdict >> text=answers from 1 min ago: it is away")
        assert "stand in" not in page.inner_text(".verdict")
        assert page.get_by_text("1 min, 4 generations").count() == 1
        desk.operations = Operations(follows=replace(copy, problem="", behind_seconds=0.4))
        page.wait_for_selector(".verdict[data-state=well]")


def test_the_view_waits_while_a_figure_is_being_copied(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.evaluate("location.hash = '#/operations'")
        figure = page.wait_for_selector(".tile .figure")
        figure.select_text()
        page.wait_for_timeout(2500)
        assert figure.evaluate("e => e.isConnected")
