"""The page in Chromium on loopback: how soon its first content is there, and how large it is."""

import statistics

from query.service.app import create_app
from query.service.server import ServerThread
from tests.bench.table import Row
from tests.browser import chromium
from tests.query.service.fakes import Desk

VISITS = 5
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
SENT = """() => performance.getEntriesByType('navigation')
  .concat(performance.getEntriesByType('resource'))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""


def page_rows() -> list[Row]:
    """Median over visits with an empty cache, and all bytes until documents are shown.

    Raises:
        NoBrowserError: there is no Chromium.
    """
    server = ServerThread(create_app(Desk().service()), grace_seconds=1)
    url = f"http://127.0.0.1:{server.start()}/"
    painted, sent = [], []
    try:
        with chromium() as browser:
            for _ in range(VISITS):
                context = browser.new_context()
                page = context.new_page()
                page.goto(url)
                page.wait_for_selector("#arriving li")
                painted.append(page.evaluate(PAINTED) / 1000)
                sent.append(page.evaluate(SENT) / 1000)
                context.close()
    finally:
        server.stop()
    return [
        Row("page: first content, median of 5", statistics.median(painted), "s", "<= 1"),
        Row("page: bytes sent, empty cache", max(sent), "kB", "<= 500"),
    ]
