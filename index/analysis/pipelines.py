"""Installed spaCy pipelines for languages other than English, found without loading them."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version

NONE = "none"
"""In place of a pipeline's name: read this language without one."""
_SIZES = ("sm", "md", "lg", "trf")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A package that reads a language; ``version`` is the package's."""

    lang: str
    name: str
    version: str


def pipelines(chosen: Mapping[str, str]) -> dict[str, Pipeline]:
    """The pipeline of each language: the one ``chosen`` names, else the smallest installed.

    Raises:
        ValueError: a chosen pipeline is not installed.
    """
    found = _installed()
    for lang, name in chosen.items():
        found.pop(lang, None)
        if name != NONE:
            found[lang] = Pipeline(lang, name, _version(name))
    return dict(sorted(found.items()))


def _installed() -> dict[str, Pipeline]:
    """By language; spaCy's packages announce themselves, as "fr_core_news_sm"."""
    best: dict[str, tuple[int, str]] = {}
    for point in entry_points(group="spacy_models"):
        lang, _, rest = point.name.partition("_")
        size = rest.rpartition("_")[2]
        if lang not in {"en", "xx"} and rest.startswith("core_") and size in _SIZES:
            rank = (_SIZES.index(size), point.name)
            best[lang] = min(best.get(lang, rank), rank)
    return {lang: Pipeline(lang, name, _version(name)) for lang, (_, name) in best.items()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise ValueError(f"the spaCy pipeline {name!r} is not installed") from None
