"""What became of a community, and where it came from."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from query.errors import UnknownCommunityError
from query.service.models import Model
from query.service.reading import TAGGED, ReaderGiven
from query.service.routing import Router

router = Router(prefix="/v1", tags=["news"], responses=TAGGED)

LONGEST_ID = 18
"""Digits that an id can have."""


class LineageEventModel(Model):
    """One event in a line of descent."""

    generation: int
    kind: str = Field(
        description="birth, death, split, merge, growth (at least twice as large as last told) or"
        " decline (at most half as large)"
    )
    community: int
    related: int = Field(description="Split: what it came out of. Merge: what it went into. Else 0")
    shared: int = Field(description="Split, merge: concepts in common. Else concepts in it then")


class LineageModel(Model):
    """A community's line of descent; ids are lasting and never used again."""

    id: int
    level: int
    parent: int
    size: int = Field(description="Concepts, now or when last counted")
    born: int = Field(description="Generation")
    died: int | None = Field(description="Generation; null while it lives")
    came_from: list[int] = Field(description="What it was split from, nearest first")
    became: list[int] = Field(description="What it went into, nearest first")
    events: list[LineageEventModel] = Field(description="Newest first")
    more: bool = Field(description="Whether there are older events")
    generation: int


@router.get("/communities/{community}/lineage")
def get_lineage(
    reader: ReaderGiven,
    community: Annotated[str, Path(description="The id of a community, dead or alive")],
    limit: Annotated[int, Query(ge=1, le=1000, description="Events told at most")] = 100,
) -> LineageModel:
    """Tell what became of a community and where it came from."""
    known = community.isascii() and community.isdecimal() and len(community) <= LONGEST_ID
    with reader.pinned() as view:
        found = view.lineage(int(community), limit) if known else None
        if found is None:
            raise UnknownCommunityError(f"There never was a community {community[:40]!r}.")
        return LineageModel(
            id=found.id,
            level=found.level,
            parent=found.parent,
            size=found.size,
            born=found.born,
            died=found.died,
            came_from=list(found.came_from),
            became=list(found.became),
            events=[LineageEventModel.model_validate(event) for event in found.events],
            more=found.more,
            generation=view.snapshot.generation,
        )
