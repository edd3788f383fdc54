"""Renders the chart as Helm does, in the part of its language that the chart keeps to.

``{{ value }}`` with a field (``.Values.a.b``, ``.Release.Name``), a variable or text, through
``quote``, ``default`` and ``toJson``; ``if``, ``if not``, ``range $name, $value :=`` and
``range $value :=``. Anything else is an error, so that the templates stay readable. Where Helm is
at hand a test compares the two.
"""

import json
import re
from pathlib import Path

import yaml

CHART = Path(__file__).parents[2] / "deploy" / "chart"
_TAG = re.compile(r"(\s*)\{\{-\s*(.*?)\s*\}\}|\{\{\s*(.*?)\s*\}\}", re.DOTALL)
_RANGE = re.compile(r"range (?:(\$\w+), )?(\$\w+) := (\S+)")


def values():
    return yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))


def rendered(overrides=None, release="news"):
    """The objects that the chart gives, by kind and name, with some values put over its own."""
    scope = {".Values": merged(values(), overrides or {}), ".Release": {"Name": release}}
    found = {}
    for template in sorted((CHART / "templates").glob("*.yaml")):
        text, rest = _block(_tokens(template.read_text("utf-8")), 0, scope, active=True)
        assert rest is None, f"{template.name}: an end without a beginning"
        for made in yaml.safe_load_all(text):
            if made is not None:
                found[made["kind"], made["metadata"]["name"]] = made
    return found


def merged(below, above):
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: merged(below.get(key), value) for key, value in above.items()}


def _tokens(text):
    """Text and actions in turn; an action that begins with a hyphen eats the space before it."""
    made, at = [], 0
    for tag in _TAG.finditer(text):
        made.append((None, text[at : tag.start()]))
        made.append(("do", tag[2] if tag[2] is not None else tag[3]))
        at = tag.end()
    return [*made, (None, text[at:])]


def _block(tokens, at, scope, *, active):
    """What the tokens from a place on give, and the place of the ``end`` that closes them."""
    made = []
    while at < len(tokens):
        kind, text = tokens[at]
        if kind is None:
            made.append(text)
        elif text == "end":
            return "".join(made), at
        elif text.startswith("if "):
            wanted = active and _condition(text[3:], scope)
            inner, at = _block(tokens, at + 1, scope, active=wanted)
            made.append(inner if wanted else "")
        elif text.startswith("range "):
            inner, at = _loop(text, tokens, at + 1, scope, active=active)
            made.append(inner)
        elif active:
            made.append(_value(text, scope))
        at += 1
    return "".join(made), None


def _loop(text, tokens, at, scope, *, active):
    name, value, over = _RANGE.fullmatch(text).groups()
    items = _field(over, scope) if active else {}
    # Helm walks a mapping in the order of its keys.
    pairs = sorted(items.items()) if isinstance(items, dict) else enumerate(items)
    made = []
    for key, item in pairs:
        inner, _ = _block(tokens, at, scope | {name: key, value: item}, active=True)
        made.append(inner)
    _, end = _block(tokens, at, scope, active=False)
    return "".join(made), end


def _condition(text, scope):
    if text.startswith("not "):
        return not _field(text[4:], scope)
    return bool(_field(text, scope))


def _value(text, scope):
    first, *pipes = (part.strip() for part in text.split("|"))
    function, _, name = first.rpartition(" ")
    assert function in {"", "toJson"}, f"unknown: {text}"
    value = _field(name, scope)
    for pipe in [*pipes, *([function] if function else [])]:
        word, _, given = pipe.partition(" ")
        if word == "quote":
            value = json.dumps(_plain(value))
        elif word == "toJson":
            value = json.dumps(value)
        elif word == "default":
            value = value or json.loads(given)
        else:
            raise AssertionError(f"unknown: {text}")
    return _plain(value)


def _plain(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _field(name, scope):
    if name.startswith("$"):
        return scope[name]
    root, *path = name.removeprefix(".").split(".")
    found = scope[f".{root}"]
    for part in path:
        # As in Helm a value that is not there is nothing; the names are checked by a test.
        found = found.get(part)
    return found
