"""The words of an answer: claims with their citations, or what was searched in vain."""

from collections.abc import Mapping, Sequence

from index.types import Millis, from_millis
from query.types import Claim, Outcome, Searched

NO_MODEL = (
    "No language model was used: these are sentences quoted from the documents, chosen by "
    "similarity, shared words and shared concepts."
)

_WHY = {
    Outcome.NEVER_SEEN: "nothing in the index is about it",
    Outcome.EXPIRED: "the index has held it, but those documents expired or were withdrawn",
    Outcome.OUTSIDE_FILTER: "the index holds something about it, but outside the filter",
    Outcome.NOT_YET_INDEXED: "records that have arrived are not indexed yet; ask again soon",
    Outcome.BUDGET_SPENT: "the budget was spent before anything relevant was found; a larger "
    "budget may find it",
}


def answered(claims: Sequence[Claim], headings: Mapping[int, str], *, offline: bool) -> str:
    """The claims as lines, each with its citations; a heading over each community's claims."""
    lines = [NO_MODEL, ""] if offline else []
    headed = len({claim.community for claim in claims}) > 1
    last: int | None = None
    for claim in claims:
        heading = headings.get(claim.community, "")
        if headed and claim.community != last and heading:
            lines.append(f"{heading}:")
        last = claim.community
        marks = "".join(f"[{number}]" for number in claim.citations)
        lines.append(f"- {' '.join(claim.text.split())} {marks}")
    return "\n".join(lines)


def no_record(about: Sequence[str], outcome: Outcome, searched: Searched) -> str:
    """That there is no record, of what, why, and what was searched."""
    named = ", ".join(f'"{name}"' for name in about)
    what = f"No record of {named}" if named else "No record that answers the question"
    return f"{what}: {_WHY[outcome]}. {_searched(searched)}"


def _searched(searched: Searched) -> str:
    documents = "1 document" if searched.documents == 1 else f"{searched.documents} documents"
    if not searched.documents:
        return "Searched: no documents."
    period = ""
    if searched.since is not None and searched.until is not None:
        period = f" from {_day(searched.since)} to {_day(searched.until)}"
    newest = ""
    if searched.newest_arrival is not None:
        newest = f"; the newest arrived {from_millis(searched.newest_arrival):%Y-%m-%d %H:%M} UTC"
    return f"Searched: {documents}{period}{newest}."


def _day(moment: Millis) -> str:
    return f"{from_millis(moment):%Y-%m-%d}"
