"""The pictures of the documentation: ``python -m tests.pictures`` plays the demo and takes them.

They show the sample stream, whose times are moved to now; all else is the same each time.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.demo import play
from tests.browser import NoBrowserError, chromium
from tests.demonstration import Demonstration, demonstration

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
SETTLED_MS = 400


def stream(page: "Page") -> None:
    """What arrives, what rises, the stories."""
    page.wait_for_selector("[data-story] >> nth=3")
    page.wait_for_selector(".trends li")
    page.wait_for_selector("#examples button")


def answer(page: "Page") -> None:
    """An answer, with a source opened at its sentence."""
    page.fill("#question", play.questions().local)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer .cost")
    page.locator("#answer .prose .cite").first.click()
    page.wait_for_selector("#source-panel mark")


def story(page: "Page") -> None:
    """The largest story, told."""
    page.click("[data-story] h3 a >> nth=0")
    page.wait_for_selector(".timeline li")


Arranged = tuple[Callable[["Page"], None], dict[str, int], str]
"""What brings a page into its state, the size of its window, light or dark."""

PICTURES: dict[str, Arranged] = {
    "page.png": (stream, DESKTOP, "light"),
    "answer.png": (answer, DESKTOP, "light"),
    "story.png": (story, DESKTOP, "dark"),
    "phone.png": (stream, PHONE, "light"),
}


def take(browser: "Browser", demo: Demonstration, folder: Path) -> list[Path]:
    """Take every picture of a demo that begins to play; their files."""
    operations = opened(browser, demo.url + "#/operations", DESKTOP, "dark")
    operations.wait_for_selector(".tile")  # its lines show the stream as it plays
    demo.played()
    taken = [saved(operations, folder / "operations.png")]
    for name, (arrange, size, scheme) in PICTURES.items():
        page = opened(browser, demo.url, size, scheme)
        arrange(page)
        taken.append(saved(page, folder / name))
    return taken


def opened(browser: "Browser", url: str, size: dict[str, int], scheme: str) -> "Page":
    """A page in a context of its own, without motion."""
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", viewport=size)
    page = context.new_page()
    page.goto(url)
    return page


def saved(page: "Page", path: Path) -> Path:
    """The picture of a page, once it has settled; the page is closed."""
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=path)
    page.context.close()
    return path


def main() -> int:
    """Play the demo, take the pictures; 1 where there is no browser."""
    parser = argparse.ArgumentParser(prog="make pictures")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="where they are written")
    folder = parser.parse_args().out
    try:
        with (
            tempfile.TemporaryDirectory() as data,
            chromium() as browser,
            demonstration(Path(data)) as demo,
        ):
            taken = take(browser, demo, folder)
        for path in taken:
            print(f"{path}: {path.stat().st_size / 1000:.0f} kB")  # noqa: T201  a command
    except NoBrowserError as error:
        print(f"No pictures: {error}", file=sys.stderr)  # noqa: T201  a command
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
