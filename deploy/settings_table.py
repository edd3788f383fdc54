"""The table of all settings in Markdown, from the code: ``python -m deploy.settings_table``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from deploy.configuration import secret_names, variable
from deploy.settings import Settings


def table() -> str:
    """All settings, one a row: name, variable, default, unit, meaning."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    secrets = set(secret_names())
    group = ""
    for name, field in Settings.model_fields.items():
        extra = field.json_schema_extra
        about = extra if isinstance(extra, dict) else {}
        if about["group"] != group:
            if group:
                yield ""
            group = str(about["group"])
            yield from (f"### {group}", "")
            yield "| setting | environment | default | unit | meaning |"
            yield "| --- | --- | --- | --- | --- |"
        named = f"`{variable(name)}`" + (f", `{variable(name)}_FILE`" if name in secrets else "")
        yield (
            f"| `{name}` | {named} | {_default(field)} | {about['unit']} "
            f"| {field.description}{_choices(field)} |"
        )


def _default(field: FieldInfo) -> str:
    value = field.default
    if value in ((), "", None, SecretStr("")):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value.as_posix() if isinstance(value, Path) else value}`"


def _choices(field: FieldInfo) -> str:
    if get_origin(field.annotation) is not Literal:
        return ""
    choices = [f"`{choice}`" for choice in get_args(field.annotation) if choice]
    return f" One of {', '.join(choices)}."


if __name__ == "__main__":
    sys.stdout.write(table())
