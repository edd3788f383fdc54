"""The openai client as a ``Model``: any server that speaks its protocol."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Semaphore, Thread

import httpx
import openai

from query.model.calls import ModelError, Prompt, Reply
from query.model.dialect import REFUSALS, Dialect, request
from query.model.wire import reply_of, whole

_UNUSED_KEY = "none"
"""Sent where no key is set: the client wants one, local servers look at none."""

_SHUT = "it is shut down"


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where the model is and how patiently it is asked.

    Attributes:
        timeout: Seconds for one prompt in all, whatever the server does and however often it is
            tried again.
        concurrency: Calls under way at once, over all searches.
        retries: Tries after the first, on 408, 409, 429, 5xx and lost connections; the client
            waits as Retry-After says, or longer from try to try.
        thinking: Tokens that a model may think, beside those of its reply.
    """

    name: str
    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    concurrency: int = 4
    retries: int = 2
    thinking: int = 0


class ModelClient:
    """Asks a model over HTTP; see ``Model``.

    It begins with all of the protocol; what the server refuses is left out from then on.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client = openai.OpenAI(
            api_key=settings.key or _UNUSED_KEY,
            base_url=settings.url,
            timeout=settings.timeout,
            max_retries=settings.retries,
        )
        self._free = Semaphore(settings.concurrency)
        self._closed = Event()
        self._open: set[Future[Reply]] = set()
        self._lock = Lock()
        self.dialect = Dialect()

    def ask(self, prompts: Sequence[Prompt]) -> list[Reply | ModelError]:
        """See ``Model.ask``."""
        end = time.monotonic() + self._settings.timeout
        futures = [self._begun(prompt, end) for prompt in prompts]
        return [self._result(future, end - time.monotonic()) for future in futures]

    def for_question(self, payer: str = "") -> "ModelClient":
        """See ``Model``: all questions are alike to it."""
        del payer
        return self

    def close(self) -> None:
        """Let those who wait go, with an error, and drop the connections."""
        self._closed.set()
        with self._lock:
            waiting = list(self._open)
        for future in waiting:
            with suppress(InvalidStateError):
                future.set_exception(ModelError(_SHUT))
        self._client.close()

    def _begun(self, prompt: Prompt, end: float) -> "Future[Reply]":
        """A call in a thread that no end of the process waits for: a server may never answer."""
        future: Future[Reply] = Future()
        with self._lock:
            self._open.add(future)
        Thread(target=self._work, args=(future, prompt, end), name="model", daemon=True).start()
        return future

    def _work(self, future: "Future[Reply]", prompt: Prompt, end: float) -> None:
        with self._free:
            try:
                reply = self._one(prompt, end)
            except Exception as error:  # noqa: BLE001  raised where the reply is waited for
                with suppress(InvalidStateError):
                    future.set_exception(error)
            else:
                with suppress(InvalidStateError):
                    future.set_result(reply)
        with self._lock:
            self._open.discard(future)

    def _result(self, future: "Future[Reply]", seconds: float) -> Reply | ModelError:
        try:
            return future.result(max(seconds, 0.0))
        except TimeoutError:
            return ModelError(self._late)
        except ModelError as error:
            return error

    @property
    def _late(self) -> str:
        return f"no reply within {self._settings.timeout:g} s"

    def _one(self, prompt: Prompt, end: float) -> Reply:
        """Ask, with less of the protocol each time that the server refuses some of it."""
        dialect = self.dialect
        while True:
            try:
                reply = self._said(prompt, dialect, end)
            except openai.APIStatusError as error:
                lesser = _lesser(dialect, error)
                if lesser is None:
                    raise ModelError(_meaning(error.status_code)) from error
                dialect = lesser
            except openai.APITimeoutError as error:
                raise ModelError(self._late) from error
            except (openai.OpenAIError, httpx.HTTPError, ValueError, RuntimeError) as error:
                # The words of the error are left out: they may hold what the request held.
                raise ModelError("its server cannot be reached or understood") from error
            else:
                self.dialect = dialect
                return reply

    def _said(self, prompt: Prompt, dialect: Dialect, end: float) -> Reply:
        settings = self._settings
        body = request(prompt, settings.name, dialect, settings.thinking)
        seconds = end - time.monotonic()
        if seconds <= 0 or self._closed.is_set():
            raise ModelError(_SHUT if self._closed.is_set() else self._late)
        with self._client.chat.completions.with_streaming_response.create(
            **body, timeout=seconds
        ) as response:
            return reply_of(whole(response.iter_bytes(), end))


def _lesser(dialect: Dialect, error: openai.APIStatusError) -> Dialect | None:
    return dialect.lesser(str(error.message)) if error.status_code in REFUSALS else None


_MEANINGS: Mapping[int, str] = {
    401: "refuses the key",
    403: "refuses the key",
    404: "knows no such model or address",
    429: "takes no more calls for now",
}


def _meaning(status: int) -> str:
    known = _MEANINGS.get(status)
    return f"its server {known} (HTTP {status})" if known else f"its server says HTTP {status}"
