"""Markup as plain text: what a reader would see, scripts and styles left out.

The time is linear in the markup whatever it is: the standard library's parser takes half a minute
for 60 kB of tags that are never closed (Python 3.11).
"""

import re
from collections.abc import Iterator
from html import unescape

from stream.text import clean

_UNSEEN = frozenset(
    ("script", "style", "template", "noscript", "iframe", "object", "svg", "head", "title")
)
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "td",
        "th",
        "tr",
        "ul",
    ]
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^\"'>]|\"[^\"]*\"|'[^']*')*+)>")
_PLAIN_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)([^>]*+)>")
_ENDS = {name: re.compile(rf"</{name}(?![A-Za-z])[^>]*>?", re.IGNORECASE) for name in _UNSEEN}


def plain_text(markup: str) -> str:
    """The text of a piece of HTML: entities resolved, a line for each block, spaces folded."""
    if "<" not in markup and "&" not in markup:
        return folded(markup)
    return folded("".join(_seen(markup)))


def folded(text: str) -> str:
    """The text cleaned, spaces folded in each line, empty lines dropped."""
    lines = (" ".join(line.split()) for line in clean(text).split("\n"))
    return "\n".join(line for line in lines if line)


def _seen(markup: str) -> Iterator[str]:
    """The pieces of text, and a line feed for each border of a block.

    What is opened and never closed (a comment, a script, a tag) hides the rest, as in browsers;
    so no search for an end is ever made twice over the same stretch.
    """
    at, pattern = 0, _TAG
    while (start := markup.find("<", at)) >= 0:
        yield unescape(markup[at:start])
        follows = markup[start + 1 : start + 2]
        if follows in ("!", "?"):
            at = _after_comment(markup, start)
        elif not (follows.isascii() and (follows.isalpha() or follows == "/")):
            yield "<"
            at = start + 1
        else:
            found = pattern.match(markup, start)
            if found is None and pattern is _TAG and not markup.startswith("</", start):
                # A quote is not closed: from here on quotes mean nothing.
                pattern = _PLAIN_TAG
                found = pattern.match(markup, start)
            if found is None:
                end = markup.find(">", start)
                at = len(markup) if end < 0 else end + 1
            else:
                if found[2].lower() in _BLOCKS:
                    yield "\n"
                at = _after_tag(markup, found)
    yield unescape(markup[at:])


def _after_comment(markup: str, start: int) -> int:
    closing = "-->" if markup.startswith("<!--", start) else ">"
    end = markup.find(closing, start + 2)
    return len(markup) if end < 0 else end + len(closing)


def _after_tag(markup: str, tag: re.Match[str]) -> int:
    """Where text goes on: behind the tag, or behind the end of what is not seen."""
    name = tag[2].lower()
    if tag[1] or name not in _UNSEEN or tag[3].endswith("/"):
        return tag.end()
    end = _ENDS[name].search(markup, tag.end())
    return len(markup) if end is None else end.end()
