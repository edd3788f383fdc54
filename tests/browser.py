"""Debian's Chromium, driven by Playwright: for the page's tests, its figures and its pictures."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROGRAMS = ("chromium", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--font-render-hinting=none",
)


class NoBrowserError(Exception):
    """There is no browser to be driven; the message says what is missing."""


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A running browser without a window.

    Raises:
        NoBrowserError: Playwright or Chromium is not installed.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise NoBrowserError("playwright is not installed") from error
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise NoBrowserError("no chromium is on the path (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
