"""What an answer says beside its claims: how the question was read, and counts."""

from dataclasses import dataclass

from index.types import Millis, from_millis
from query.reading import Reading
from query.tally import Tally
from query.types import AmountRange, Citation, Claim, Counted, Found, Outcome, Window


@dataclass(frozen=True, slots=True)
class Said:
    """The parts of an answer that its way to it decides."""

    outcome: Outcome
    text: str
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    ranking: tuple[Found, ...] = ()
    counted: Counted | None = None


def counted(tally: Tally) -> Said:
    """An answer that is a count; nothing counted is no record."""
    found = tally.counted.value > 0
    return Said(
        Outcome.ANSWERED if found else Outcome.NEVER_SEEN,
        tally.text,
        tally.claims,
        tally.citations,
        tally.ranking,
        tally.counted,
    )


def amiss(reading: Reading) -> Said:
    """That there can be nothing: no document is of that time, or holds such an amount."""
    return Said(Outcome.NEVER_SEEN, reading.amiss)


def how_read(reading: Reading) -> list[str]:
    """How words of the question became filters, a sentence each."""
    lines = [
        f'Only texts with an amount "{amount.from_words}" were searched' for amount in _of(reading)
    ]
    if reading.window is not None:
        lines.insert(0, _window(reading.window))
    return [f"({line}.)" for line in lines]


def _of(reading: Reading) -> tuple[AmountRange, ...]:
    return () if reading.no_amount else reading.amounts


def _window(window: Window) -> str:
    words = f'"{window.from_words}"'
    if not window.applied:
        return (
            f"{words} is before the first document of the index, so documents of all times were "
            "searched"
        )
    bounds = []
    if window.since is not None:
        bounds.append(f"from {_moment(window.since)}")
    if window.until is not None:
        bounds.append(f"before {_moment(window.until)}")
    return f"{words} was read as the time {' and '.join(bounds)} by the index's clock"


def _moment(millis: Millis) -> str:
    return f"{from_millis(millis):%Y-%m-%d %H:%M} UTC".replace(" 00:00 UTC", "")
