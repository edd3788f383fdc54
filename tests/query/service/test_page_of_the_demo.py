"""The demo as a visitor sees it: the real service, the real search, the real page."""

import pytest

from deploy.demo import play
from tests.demonstration import demonstration
from tests.query.service.conftest import Visit


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demonstration(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


def test_the_demo_plays_and_a_question_is_answered_with_sources_that_open(browser, demo):
    context = browser.new_context()
    visit = Visit(context, demo.url)
    page = visit.page
    page.wait_for_selector("#arriving li")
    early = page.inner_text("#arriving-count")
    demo.played()
    page.wait_for_selector("#arriving li:first-child >> text=/mayor/")
    assert page.inner_text("#arriving-count") != early
    page.wait_for_selector("[data-story] h3")
    page.focus("#question")
    page.keyboard.type(play.questions().local)
    page.keyboard.press("Enter")
    assert "Same room, same minute" in visit.answer.inner_text()
    cite = page.locator("#answer .prose .cite").first
    sentence = cite.locator("xpath=..").inner_text().rsplit("\u00a0", 1)[0].strip()
    cite.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#source-panel mark:focus")
    assert page.inner_text("#source-panel mark") == sentence
    context.close()
    assert (visit.foreign, visit.wrong) == ([], [])
