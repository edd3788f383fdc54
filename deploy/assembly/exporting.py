"""Writes a part of the concept graph to a file; what ``tidegraph export`` does."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.errors import UsageError
from deploy.settings import Settings
from index import graph_export, graph_picture
from index.concept_graph import Bounds, Part, around, of_community, whole
from index.errors import UnknownPartError
from index.store.follower import Follower
from index.view import View
from query.errors import UnknownConceptError
from query.graph import SearchGraph
from query.names import exactly, matching

WRITERS = {
    "graphml": graph_export.graphml,
    "gexf": graph_export.gexf,
    "json": graph_export.node_link,
    "svg": graph_picture.svg,
}
LIMITS = {"svg": 80}
"""Concepts where no limit is given; more than that is no picture that a person can read."""

LIKE_IT = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part: of a community, around a concept, else of all; ``limit`` in concepts."""

    community: int | None = None
    concept: str | None = None
    radius: int = 1
    limit: int | None = None


def export(settings: Settings, wanted: Wanted, form: str, out: Path) -> Part:
    """Write the part to a file, whole or not at all.

    Raises:
        UsageError: There is no such part, or the file cannot be written.
        StoreError: There is no index.
    """
    limit = wanted.limit or LIMITS.get(form, Bounds().concepts)
    source = Follower.open(settings.data)
    try:
        with source.pin() as view:
            part = _part(view, wanted, Bounds(concepts=limit))
        content = WRITERS[form](part)
    except UnknownPartError as error:
        raise UsageError(str(error)) from error
    finally:
        source.close()
    _write(out, content)
    return part


def _part(view: View, wanted: Wanted, bounds: Bounds) -> Part:
    if wanted.concept is not None:
        return around(view, _key(view, wanted.concept), wanted.radius, bounds)
    if wanted.community is not None:
        return of_community(view, wanted.community, bounds)
    return whole(view, bounds)


def _key(view: View, name: str) -> str:
    """The key of a concept as people type it; an error names those like it."""
    graph, vocabulary = SearchGraph(view.snapshot), view.snapshot.vocabulary
    try:
        return vocabulary.key(exactly(graph, name))
    except UnknownConceptError as error:
        like = vocabulary.keys(matching(graph, name)[:LIKE_IT].tolist())
        hint = f"; there is {', '.join(map(repr, like))}" if like else ""
        raise UsageError(f"{error}{hint}") from error


def _write(out: Path, content: bytes) -> None:
    """Put a file in place in one step, so that nobody reads half of it."""
    try:
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).chmod(0o644)
            Path(name).replace(out)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror or error}") from error
