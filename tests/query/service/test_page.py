"""The page in a real browser: Chromium, driven by Playwright."""

import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from query.service.app import create_app
from query.service.page import page_files
from query.service.server import ServerThread
from tests.query.service.fakes import Desk
from tests.query.service.small_index import ITEMS, FakeIndex

QUESTION = "What happened with the harbour bridge?"
PHONE = {"viewport": {"width": 375, "height": 720}, "is_mobile": True, "has_touch": True}
TIMEOUT = 15_000


def missing(reason):
    """Skip, aloud; on the build server the browser must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("the page is not tested: playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        missing("the page is not tested: no chromium is on the path (Debian: apt install chromium)")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


class Visit:
    """An open page that notes what it asks for and what goes wrong."""

    def __init__(self, context, url):
        self.url = url
        self.wrong, self.foreign = [], []
        self.page = context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", self._request)
        self.page.on("dialog", lambda _: self.wrong.append("a dialog opened"))
        self.page.goto(url)

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.wrong.append(message.text)

    def _request(self, request):
        if not request.url.startswith(self.url):
            self.foreign.append(request.url)

    def ask_by_keyboard(self):
        self.page.focus("#question")
        self.page.keyboard.type(QUESTION)
        self.page.keyboard.press("Enter")


@pytest.fixture
def visiting(browser):
    """Open the page of a desk; at the end nothing may have gone wrong or abroad."""

    @contextmanager
    def visit(desk, **how):
        server = ServerThread(create_app(desk.service()), grace_seconds=1)
        url = f"http://127.0.0.1:{server.start()}/"
        context = browser.new_context(**how)
        try:
            found = Visit(context, url)
            yield found
            assert found.foreign == []
            assert found.wrong == []
        finally:
            context.close()
            server.stop()

    return visit


def test_it_shows_what_arrives_and_the_stories(visiting):
    with visiting(Desk()) as visit:
        page = visit.page
        page.wait_for_selector(".card")
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


def test_text_from_right_to_left_runs_from_right_to_left(visiting):
    with visiting(Desk()) as visit:
        visit.page.wait_for_selector("#arriving li")
        link = visit.page.locator("#arriving a[lang=ar]")
        assert link.evaluate("e => getComputedStyle(e).direction") == "rtl"


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
        page.wait_for_selector(".card >> nth=10")
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


def test_the_first_content_is_there_within_a_second(visiting):
    with visiting(Desk()) as visit:
        visit.page.wait_for_selector("#arriving li")
        paint = visit.page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        assert paint < 1000


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
