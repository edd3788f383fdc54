"""The errors of ``stream``; every one says what to do about it."""


class StreamError(Exception):
    """Base of all errors of the stream."""


class SourceError(StreamError):
    """A source cannot be read: not there, not readable, not of its kind."""


class SourceChangedError(SourceError):
    """What is being read was replaced or cut under the reader; its offsets hold no longer."""


class PositionLostError(SourceError):
    """The wanted position is not there: retention has eaten it, or the topic was made anew."""


class SourceUnavailableError(SourceError):
    """A server that the source needs does not answer, or answers as something else."""


class LogError(StreamError):
    """The embedded log cannot be used: not writable, not a log, damaged."""


class LogTooNewError(LogError):
    """The embedded log was written by a newer release."""


class ProduceError(StreamError):
    """Messages could not be published; what was acknowledged before stays published."""


class FeedError(StreamError):
    """A feed could not be fetched or read; ``retry_after`` seconds where its server named them."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
