"""What a store was built with, so that another analyzer is refused; cheap to import."""

import json
from dataclasses import asdict, dataclass, fields, replace

LABELS = {
    "tagger": "tagger",
    "tagger_version": "tagger's version",
    "chunking": "chunking",
    "normalisation": "rules of concepts",
    "embedder": "embedder",
    "dimensions": "dimensions of the vectors",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The analyzer's identity: equal fingerprints give equal analyses of equal documents.

    ``normalisation`` is the version of the rules for concepts, facets and kinds.
    """

    tagger: str
    tagger_version: str
    chunking: str
    normalisation: int
    embedder: str
    dimensions: int

    def to_json(self) -> str:
        """A JSON object with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Fingerprint":
        """Read what ``to_json`` wrote.

        Raises:
            ValueError: the text is no fingerprint.
        """
        body = json.loads(text)
        names = {f.name for f in fields(cls)}
        if not isinstance(body, dict) or set(body) != names:
            raise ValueError(f"not a fingerprint: {text[:200]!r}")
        for name in names:
            wanted = int if name in {"normalisation", "dimensions"} else str
            if type(body[name]) is not wanted:
                raise ValueError(f"not a fingerprint: {name} is {body[name]!r}")
        return cls(**body)

    def differences(self, other: "Fingerprint") -> list[str]:
        """One readable line for each field in which the settings' ``other`` is not this store's."""
        return [
            f"{LABELS[f.name]}: {getattr(self, f.name)} in the store, "
            f"{getattr(other, f.name)} in the settings"
            for f in fields(self)
            if getattr(self, f.name) != getattr(other, f.name)
        ]

    def same_but_embedder(self, other: "Fingerprint") -> bool:
        """Whether at most the embedder differs, so that embedding again is enough."""
        return self == replace(other, embedder=self.embedder, dimensions=self.dimensions)
