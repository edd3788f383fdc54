"""Answers, news and status as a person reads them on a terminal."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: object) -> str:
    """Text without what moves a terminal's cursor, changes its colours or reverses its order."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", str(text))


def answer(out: Console, body: Mapping[str, Any]) -> None:
    """An answer with its sources and what it cost."""
    out.print(Text(plain(body["question"]), style="bold"))
    out.print()
    out.print(Text(plain(body["answer"])))
    if body["citations"]:
        out.print()
        out.print(Text("Sources", style="bold"))
    for number, citation in enumerate(body["citations"], start=1):
        out.print(_source(number, citation))
        out.print(
            Padding(
                Text(f"\u201c{plain(citation['quote'])}\u201d", style="italic"),
                (0, 0, 0, 5),
                expand=False,
            )
        )
    out.print()
    out.print(Text(_cost(body), style="dim"))


def _source(number: int, citation: Mapping[str, Any]) -> Text:
    when = citation["published_at"] or citation["observed_at"]
    line = Text(f"[{number}]".rjust(4) + " ")
    line.append(plain(citation["title"] or citation["document_id"]), style="bold")
    for part in (citation["source"], str(when)[:16].replace("T", " "), citation["url"]):
        if part:
            line.append(f" \u00b7 {plain(part)}", style="dim")
    return line


def _cost(body: Mapping[str, Any]) -> str:
    tests = sum(stage["relevance_tests"] for stage in body["ledger"].values())
    known = body["ledger"].get("test", {}).get("remembered", 0)
    remembered = f" ({known} remembered)" if known else ""
    calls = sum(stage["calls"] for stage in body["ledger"].values())
    offline = body["assessor"] == "offline"
    model = "no language model was used" if offline else f"{calls} model call{'s' * (calls != 1)}"
    return (
        f"{body['outcome']} \u00b7 {tests} of {body['budget']} relevance tests{remembered} "
        f"\u00b7 stopped: {body['stopped']} \u00b7 {body['mode']}, assessor {body['assessor']} "
        f"\u00b7 {model} \u00b7 generation {body['generation']}"
    )


def status(out: Console, body: Mapping[str, Any], where: str) -> None:
    """What the index holds and how its stream is doing."""
    table = Table(box=None, show_header=False, pad_edge=False)
    rows: list[tuple[str, str]] = [
        (name, f"{body[name]:,}")
        for name in ("generation", "documents", "chunks", "concepts", "edges")
    ]
    rows += [
        ("communities", _levels(body["communities"], "{:,}")),
        ("modularity", _levels(body["modularity"], "{:.3f}")),
        ("positions", _positions(body["positions"])),
        ("lag", "not known" if body["lag"] is None else f"{body['lag']:,} records"),
        ("freshness", _seconds(body["freshness_seconds"])),
        ("newest arrival", plain(body.get("newest_arrival") or "none")),
        ("window", _window(body.get("expiry") or {})),
        ("vectors", _vectors(body.get("operations", {}).get("vectors"))),
        ("checkpoint", _checkpoint(body.get("operations", {}).get("checkpoint") or {})),
        *_follows(body.get("operations", {}).get("follows")),
        ("told by", plain(where)),
    ]
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    out.print(table)


def _window(state: Mapping[str, Any]) -> str:
    if not state.get("horizon"):
        return "none, everything is kept"
    since = plain(state["horizon"])[:16].replace("T", " ")
    return (
        f"documents since {since} UTC; {state['expired']:,} expired, {state['due']:,} are due, "
        f"{state['late']:,} came too late"
    )


def _checkpoint(state: Mapping[str, Any]) -> str:
    problem = f"; {plain(state['problem'])}" if state.get("problem") else ""
    if state.get("generation") is None:
        return f"none{problem}"
    at = plain(state["written_at"])[:16].replace("T", " ")
    use = "a start would use it" if state["current"] else "a start would count anew"
    of = f"of generation {state['generation']:,}, {state['bytes'] / (1 << 20):,.0f} MiB"
    return f"{of}, written {at} UTC; {use}{problem}"


def _vectors(state: Mapping[str, Any] | None) -> str:
    if state is None:
        return "searched exactly"
    if state["problem"]:
        return f"{state['index']}, searched exactly for now: {plain(state['problem'])}"
    if state["generation"] is None:
        return f"{state['index']}, nothing there yet"
    points = "" if state["points"] is None else f", {state['points']:,} points"
    building = "; builds its graph, searched exactly meanwhile" if state["building"] else ""
    return f"{state['index']}, {state['lag']} generations behind{points}{building}"


def _follows(state: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """How a follower stands to its writer; no row where nobody is followed."""
    if state is None:
        return []
    behind = "not known" if state["behind_seconds"] is None else f"{state['behind_seconds']:.1f} s"
    text = f"{plain(state['writer'])}, behind {behind}"
    if state["behind_generations"]:
        text += f" and {state['behind_generations']:,} generations"
    if state["fetching"]:
        text += "; a whole copy is on its way"
    return [("follows", text + (f"; {plain(state['problem'])}" if state["problem"] else ""))]


def _levels(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"C{level}: {form.format(value)}" for level, value in values.items()) or "none"


def _positions(positions: Sequence[Mapping[str, Any]]) -> str:
    return (
        ", ".join(f"{plain(p['topic'])}[{p['partition']}]: {p['offset']:,}" for p in positions)
        or "none"
    )


def _seconds(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1f} s"


def news(out: Console, body: Mapping[str, Any]) -> None:
    """Stories by arrival, each with its sources and one quoted sentence."""
    about = f" about {plain(body['about'])}" if body.get("about") else ""
    if body.get("about") and not body["matched"]:
        out.print(f"No concept of the name {plain(body['about'])} is in the index.")
        return
    out.print(
        Text(
            f"{body['changes']} changes{about} in {body['stories_count']} stories "
            f"since {body['since'][:16].replace('T', ' ')} UTC",
            style="bold",
        )
    )
    if body.get("expired"):
        out.print(Text(f"{body['expired']:,} expired meanwhile", style="dim"))
    for story in body["stories"]:
        out.print()
        out.print(Text(", ".join(map(plain, story["concepts"][:6])), style="bold"))
        out.print(Padding(Text(_counts(story), style="dim"), (0, 0, 0, 2), expand=False))
        first = story["first"]
        out.print(Padding(Text(f"first: {_brief(first)}"), (0, 0, 0, 2), expand=False))
        if story["other_sources"]:
            others = ", ".join(map(plain, story["other_sources"]))
            out.print(Padding(Text(f"then: {others}"), (0, 0, 0, 2), expand=False))
        for document in story["documents"]:
            out.print(Padding(Text(f"- {_brief(document)}"), (0, 0, 0, 2), expand=False))
        if story["quote"]:
            quote = Text(f"\u201c{plain(story['quote']['quote'])}\u201d", style="italic")
            out.print(Padding(quote, (0, 0, 0, 2), expand=False))


def _counts(story: Mapping[str, Any]) -> str:
    return (
        f"{story['document_count']} documents, {story['inserts']} new, {story['edits']} edited, "
        f"{story['withdrawals']} withdrawn, newest {story['newest_at'][:16].replace('T', ' ')}"
    )


def _brief(document: Mapping[str, Any]) -> str:
    if document["change"] == "delete":
        return f"{plain(document['document_id'])} (withdrawn)"
    title = plain(document["title"] or document["document_id"])
    source = f" \u00b7 {plain(document['source'])}" if document["source"] else ""
    return f"{title}{source} \u00b7 {document['observed_at'][:16].replace('T', ' ')}"


def checks(out: Console, found: Sequence[tuple[str, bool, str]]) -> None:
    """Named checks, one a line."""
    width = max((len(name) for name, _, _ in found), default=0)
    for name, ok, detail in found:
        line = Text("ok    " if ok else "FAIL  ", style="green" if ok else "bold red")
        line.append(name.ljust(width + 2), style="bold")
        line.append(plain(detail))
        out.print(line)
