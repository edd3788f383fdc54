"""The page in a real browser: Chromium, driven by Playwright."""

import threading
from dataclasses import replace

from query.service.page import page_files
from tests.query.service.fakes import Desk
from tests.query.service.small_index import ITEMS, FakeIndex

PHONE = {"viewport": {"width": 375, "height": 720}, "is_mobile": True, "has_touch": True}


def test_it_shows_what_arrives_and_the_stories(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.wait_for_selector(".card h3")
        assert page.locator("#arriving li").count() == len(ITEMS)
        assert (
            page.locator(".card h3").first.inner_text()
            == "Harbour Bridge\u00a0\u00b7 Inspector\u00a0\u00b7 Ferry"
        )
        assert "fresh within 250 ms" in page.inner_text("#pulse")


def test_a_document_that_arrives_appears_by_itself(visiting):
    desk = Desk()
    with visiting(desk) as visit:
        visit.page.wait_for_selector("#arriving li")
        desk.index.grow(replace(ITEMS[0], id="harbour/3", title="Bridge reopens"))
        visit.page.wait_for_selector("#arriving li:first-child a:text-is('Bridge reopens')")


def test_an_answer_asked_by_keyboard_streams_in(visiting):
    desk = Desk()
    desk.engine.gate = threading.Event()
    with visiting(desk) as visit:
        page = visit.page
        visit.ask_by_keyboard()
        page.wait_for_selector("#answer[aria-busy] progress")
        assert page.inner_text("#submit") == "Stop"
        desk.engine.gate.set()
        page.wait_for_selector("#answer .cost")
        assert "A crack was found in the second span." in page.inner_text("#answer .prose")
        assert "4 of 100 tests spent" in page.inner_text("#answer .cost")
        assert "with 2 sources" in page.inner_text("#ask-status")


def test_stop_stops_the_search(visiting):
    desk = Desk()
    desk.engine.gate = threading.Event()
    with visiting(desk) as visit:
        visit.ask_by_keyboard()
        visit.page.wait_for_selector("#answer[aria-busy]")
        visit.page.click("#submit")
        visit.page.wait_for_selector("#answer >> text=Stopped.")
        desk.engine.gate.set()
        assert desk.engine.closed.wait(5)


def test_a_source_opens_at_its_sentence_and_closes_by_escape(visiting):
    """Offsets count characters, not UTF-16 units: the quote stands around an emoji."""
    with visiting(Desk()) as visit:
        page = visit.page
        visit.ask_by_keyboard()
        page.wait_for_selector("#answer .cost")
        page.locator(".prose .cite", has_text="2").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#source-panel mark")
        quoted = "The crossing takes 20 minutes \U0001f6a2 longer."
        assert page.inner_text("#source-panel mark") == quoted
        page.keyboard.press("Escape")
        page.wait_for_selector("#source-panel", state="hidden")
        assert page.evaluate("document.activeElement.className") == "cite"


def test_hostile_titles_texts_and_addresses_stay_text(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        title = "<img src=x onerror=alert(1)> Frost in the vineyards"
        page.locator("#arriving a", has_text=title).click()
        page.wait_for_selector("#source-panel .text")
        assert page.inner_text("#source-title") == title
        assert "<script>alert(2)</script>" in page.inner_text("#source-panel .text")
        assert page.locator("#source-panel a").count() == 0
        assert page.locator("img[src=x], #source-panel script, #source-panel b").count() == 0


def test_a_web_address_is_a_link_that_tells_nothing_about_the_page(visiting):
    with visiting(Desk()) as visit:
        visit.page.locator("#arriving a", has_text="Harbour bridge closed").click()
        link = visit.page.wait_for_selector("#source-panel a")
        assert link.get_attribute("href") == "https://news.example/harbour/1"
        assert link.get_attribute("rel") == "noopener noreferrer"


def test_a_story_and_a_concept_can_be_opened_and_left(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.click(".card h3 a")
        page.wait_for_selector(".timeline li")
        assert (
            page.title()
            == "Harbour Bridge\u00a0\u00b7 Inspector\u00a0\u00b7 Ferry \u2013 Tidegraph"
        )
        page.click(".chips a.tag >> text=Ferry")
        page.wait_for_selector(".neighbours li")
        page.go_back()
        page.wait_for_selector(".timeline li")
        page.click(".back")
        page.wait_for_selector("#view-home", state="visible")


def test_a_story_tells_where_it_came_from_and_how_it_grew(visiting):
    desk = Desk()
    size = desk.index.snapshot.hierarchy.size_of(1)
    with visiting(desk) as visit:
        visit.page.click(".card h3 a")
        visit.page.wait_for_selector(".descent li")
        assert visit.page.inner_text(".descent").splitlines() == [
            "generation 7: story 41 came out of it, with 2 concepts",
            f"generation 5: grew to {size} concepts",
            "generation 3: took in 1 concept of story 51",
            "generation 1: began with 3 concepts",
        ]
        assert visit.page.get_attribute(".descent a", "href") == "#/story/41"


def test_the_operations_view_shows_lag_and_rejects(visiting):
    with visiting(Desk()) as visit:
        visit.page.click("nav >> text=Operations")
        visit.page.wait_for_selector(".tiles")
        assert "not json" in visit.page.inner_text("#view-operations")
        assert visit.page.locator(".tile", has_text="Lag").locator(".figure").inner_text() == "5"


def test_a_phone_needs_no_scrolling_sideways(visiting):
    more = [replace(ITEMS[0], id=str(n), concepts=(f"c {n}",), community=n) for n in range(3, 12)]
    with visiting(Desk(index=FakeIndex((*ITEMS, *more))), **PHONE) as visit:
        page = visit.page
        page.wait_for_selector("[data-story] >> nth=10")
        visit.ask_by_keyboard()
        page.wait_for_selector("#answer .cost")
        for view in ("#/", "#/story/1", "#/concept/ferry", "#/operations"):
            page.evaluate("hash => { location.hash = hash }", view)
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") == 375, view


def test_a_key_is_asked_for_when_the_service_needs_one(visiting):
    desk = Desk(keys=("sesame",))
    with visiting(desk) as visit:
        visit.page.fill("#key", "sesame")
        visit.page.click("#key-form button")
        visit.page.wait_for_selector("#arriving li")
        visit.wrong.clear()  # the browser itself notes the 401 that asked for the key


def test_a_refused_question_says_why(visiting):
    desk = Desk()
    desk.limits = replace(desk.limits, question_characters=5)
    with visiting(desk) as visit:
        visit.ask_by_keyboard()
        visit.page.wait_for_selector("#answer .notice >> text=at most 5 are read")
        visit.wrong.clear()  # the browser itself notes the 422


def test_the_page_is_small():
    assert sum(map(len, page_files().values())) < 200_000


def test_the_script_never_makes_markup_from_text():
    for name, content in page_files().items():
        for word in (
            b"innerHTML",
            b"outerHTML",
            b"insertAdjacentHTML",
            b"document.write",
            b"eval(",
        ):
            assert word not in content, name
