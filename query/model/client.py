"""The openai client as a ``Model``: any server that speaks its protocol."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import openai
from openai.types.chat import ChatCompletion

from query.model.calls import ModelError, Prompt, Reply


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where the model is and how patiently it is asked.

    Attributes:
        timeout: Seconds for one prompt in all, whatever the server does and however often it is
            tried again.
        concurrency: Calls under way at once, over all searches.
        retries: Tries after the first, on 408, 409, 429, 5xx and lost connections; the client
            waits as Retry-After says, or longer from try to try.
    """

    name: str
    url: str
    key: str = field(repr=False)
    timeout: float = 30.0
    concurrency: int = 4
    retries: int = 2


class ModelClient:
    """Asks a model over HTTP; see ``Model``."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client = openai.OpenAI(
            api_key=settings.key or "none",
            base_url=settings.url,
            timeout=settings.timeout,
            max_retries=settings.retries,
        )
        self._pool = ThreadPoolExecutor(settings.concurrency, thread_name_prefix="model")

    def ask(self, prompts: Sequence[Prompt]) -> list[Reply | ModelError]:
        """See ``Model.ask``."""
        futures = [self._pool.submit(self._one, prompt) for prompt in prompts]
        end = time.monotonic() + self._settings.timeout
        return [self._result(future, end - time.monotonic()) for future in futures]

    def close(self) -> None:
        """Drop the connections; calls under way fail."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _result(self, future: "Future[Reply]", seconds: float) -> Reply | ModelError:
        try:
            return future.result(max(seconds, 0.0))
        except TimeoutError:
            future.cancel()
            return ModelError(f"no reply within {self._settings.timeout:g} s")
        except ModelError as error:
            return error

    def _one(self, prompt: Prompt) -> Reply:
        try:
            answer: object = self._client.chat.completions.create(
                model=self._settings.name,
                messages=[
                    {"role": "system", "content": prompt.system},
                    {"role": "user", "content": prompt.user},
                ],
                response_format={
                    "type": "json_schema",
                    "json_schema": {
                        "name": prompt.shape.__name__.lower(),
                        "strict": True,
                        "schema": prompt.shape.model_json_schema(),
                    },
                },
            )
        except openai.APIStatusError as error:
            raise ModelError(f"its server says HTTP {error.status_code}") from error
        except (openai.OpenAIError, ValueError) as error:
            raise ModelError(f"its server cannot be reached or understood: {error}") from error
        return _reply(answer)


def _reply(answer: object) -> Reply:
    """The text of the first choice; a refusal or no choice at all is an empty text.

    The client checks nothing of what comes with status 200: a web page is a plain string.
    """
    if not isinstance(answer, ChatCompletion):
        raise ModelError("what answers at its address is no model")
    text = ""
    if answer.choices:
        message = getattr(answer.choices[0], "message", None)
        content = getattr(message, "content", None)
        text = content if isinstance(content, str) else ""
    usage = getattr(answer, "usage", None)
    return Reply(
        text,
        getattr(usage, "prompt_tokens", None) or 0,
        getattr(usage, "completion_tokens", None) or 0,
    )
