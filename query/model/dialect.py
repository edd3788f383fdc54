"""How much of the protocol a server speaks, and what is left out when it refuses some of it."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from query.model.calls import Prompt

REFUSALS = frozenset({400, 415, 422, 501})
"""Statuses by which servers refuse a field that they do not know."""


class Form(StrEnum):
    """How the shape of a reply is asked for, the surest first."""

    SCHEMA = "json_schema"
    OBJECT = "json_object"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a request holds beside its messages.

    Attributes:
        form: How the shape is asked for; without a schema it stands in the rules as words.
        usage: Ask for the tokens in a streamed reply.
        limit: Name of the field that bounds the reply; OpenAI's newer models know another than
            older servers do.
    """

    form: Form = Form.SCHEMA
    usage: bool = True
    limit: str = "max_tokens"

    def lesser(self, complaint: str) -> "Dialect | None":
        """What to try after a refusal that says ``complaint``; None where nothing is left."""
        said = complaint.lower()
        if self.limit in said and "max_completion_tokens" in said and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if self.usage and "stream_options" in said:
            return replace(self, usage=False)
        forms = list(Form)
        later = forms[forms.index(self.form) + 1 :]
        if later:
            return replace(self, form=later[0])
        return replace(self, usage=False) if self.usage else None


def request(prompt: Prompt, model: str, dialect: Dialect, thinking: int = 0) -> dict[str, Any]:
    """The body of a request; ``thinking`` tokens are granted beside the reply's."""
    schema = prompt.shape.model_json_schema()
    name = prompt.shape.__name__.lower()
    system = prompt.system
    if dialect.form is not Form.SCHEMA:
        system += f" Reply with the JSON object alone. Its JSON schema: {json.dumps(schema)}"
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt.user},
        ],
        "stream": True,
        dialect.limit: prompt.most + thinking,
    }
    if dialect.usage:
        body["stream_options"] = {"include_usage": True}
    if dialect.form is Form.SCHEMA:
        body["response_format"] = {
            "type": dialect.form.value,
            "json_schema": {"name": name, "strict": True, "schema": schema},
        }
    elif dialect.form is Form.OBJECT:
        body["response_format"] = {"type": dialect.form.value}
    return body
