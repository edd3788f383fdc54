"""The page of a service, open in a real browser, and that nothing goes wrong or abroad in it."""

import os
from contextlib import contextmanager

import pytest

from query.service.app import create_app
from query.service.server import ServerThread
from tests.browser import NoBrowserError, chromium

QUESTION = "What happened with the harbour bridge?"
TIMEOUT = 15_000


@pytest.fixture(scope="module")
def browser():
    """Chromium; skips, aloud, where there is none, but on the build server it must be there.

    For one module: as long as it runs, no other event loop can run in this thread.
    """
    try:
        with chromium() as running:
            yield running
    except NoBrowserError as error:
        reason = f"the page is not tested: {error}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


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

    @property
    def answer(self):
        """The answer, once it is whole."""
        self.page.wait_for_selector("#answer .cost")
        return self.page.locator("#answer")

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
