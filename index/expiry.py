"""The window: which documents are too old, as pure rules.

The clock is the stream's own. Event time is the earlier of published and observed, the watermark
its maximum over all that arrived, and the horizon the watermark less the window; what is older
than the horizon is late when it arrives and due to expire when it is there. No clock of a machine
has a part in it, so a replay of 1987 keeps 1987's time.
"""

import re
from dataclasses import dataclass

from index.types import Document, Millis, to_millis

EXPIRED_PER_RECORD = 2
"""Documents that a generation may expire for each record that it brings: twice the speed of the
stream, whatever it brings, so that a backlog shrinks while no batch becomes much dearer than
without a window."""

DRAINED = 200
"""Documents that a generation of its own expires when the stream is idle; as large as a batch."""

TRACES = 200_000
"""Tombstones of expired documents that are kept at most, the newest; about 20 MB."""

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LENGTH = re.compile(r"([0-9]{1,6})([smhdw])")


def parse_window(text: str) -> Millis | None:
    """The length of a window such as ``30d``; None for "", which is no window.

    Raises:
        ValueError: It is no length, or none above zero; the message is for people.
    """
    if not text:
        return None
    found = _LENGTH.fullmatch(text)
    if found is None:
        raise ValueError(
            'a window is a number and a unit (s, m, h, d or w), such as "30d"; empty is no window'
        )
    length = int(found[1]) * _UNITS[found[2]]
    if not length:
        raise ValueError("a window of zero would keep nothing; leave it empty to keep everything")
    return Millis(length)


@dataclass(frozen=True, slots=True)
class Window:
    """A window (``length`` milliseconds, None for none) at a moment of the stream.

    ``watermark``: the largest event time so far, None before the first.
    """

    length: Millis | None = None
    watermark: Millis | None = None

    def after(self, document: Document) -> "Window":
        """The window once a document has arrived."""
        event = to_millis(document.event_at)
        if self.watermark is not None and event <= self.watermark:
            return self
        return Window(self.length, event)

    @property
    def horizon(self) -> Millis | None:
        """Event times before it are outside the window; None where nothing is."""
        if self.length is None or self.watermark is None:
            return None
        return Millis(self.watermark - self.length)

    def holds(self, event_at: int) -> bool:
        """Whether an event time (milliseconds) is inside."""
        return self.horizon is None or event_at >= self.horizon
