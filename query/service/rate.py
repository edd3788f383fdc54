"""A bound on how often one client may ask: token buckets, one for each client."""

from collections import OrderedDict
from dataclasses import dataclass

CLIENTS = 10_000
"""Buckets kept; the one unused for longest is forgotten first, and a forgotten one is full."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """``tokens`` that were left at ``seconds`` of the stopwatch."""

    tokens: float
    seconds: float


def take(bucket: Bucket | None, now: float, rate: float, burst: int) -> tuple[Bucket, float]:
    """Take one token: the bucket afterwards, and the seconds to wait (0 when it was granted)."""
    tokens = float(burst)
    if bucket is not None:
        tokens = min(tokens, bucket.tokens + (now - bucket.seconds) * rate)
    if tokens >= 1:
        return Bucket(tokens - 1, now), 0.0
    return Bucket(tokens, now), (1 - tokens) / rate


class RateLimit:
    """The buckets of all clients; used from the event loop only."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Seconds that a client must wait; 0 when its request is granted."""
        bucket, seconds = take(self._buckets.get(client), now, self._rate, self._burst)
        self._buckets[client] = bucket
        self._buckets.move_to_end(client)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return seconds
