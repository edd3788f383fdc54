"""A small index with two stories and a language that needs no model."""

import re
from hashlib import blake2b

import numpy as np

from index.analysis.normalise import common_key, name_key
from index.analysis.sentences import sentence_spans
from index.types import Analysis, AnalyzedChunk, ConceptKey, ConceptKind, Mention
from query.words import STOP_WORDS
from tests.query.memory import Given, MemoryView

DIMENSIONS = 64
_PHRASE = re.compile(r"[A-Z][\w-]+(?: [A-Z][\w-]+)*|[a-z][\w-]{3,}")


class WordLanguage:
    """Capitalised runs and longer words are concepts; a vector is a bag of hashed words."""

    def embed_queries(self, texts):
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                if word not in STOP_WORDS:
                    digest = blake2b(word.encode(), digest_size=4).digest()
                    row[int.from_bytes(digest, "big") % DIMENSIONS] += 1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms > 0, norms, 1)

    def concepts_of(self, text):
        found = {}
        for match in _PHRASE.finditer(text):
            words = match.group().split()
            key = name_key(words) if words[0][0].isupper() else common_key(words)
            if key and key not in STOP_WORDS:
                found[key] = Mention(ConceptKey(key), match.group(), ConceptKind.OTHER)
        return tuple(found[key] for key in sorted(found))

    def sentences(self, text):
        return sentence_spans(text)

    def facets_of(self, text):
        return ()


LANGUAGE = WordLanguage()


def document(name, title, text, *, lang="en", **more) -> Given:
    """A document; a blank line ends a chunk."""
    chunks, at = [], 0
    for part in text.split("\n\n"):
        start = text.index(part, at)
        at = start + len(part)
        vector = LANGUAGE.embed_queries([part])[0].astype(np.float16).tobytes()
        mentions = LANGUAGE.concepts_of(part)
        chunks.append(AnalyzedChunk(start, at, len(part.split()), mentions, (), vector))
    analysis = Analysis(name, lang, tuple(chunks), LANGUAGE.concepts_of(title))
    return Given(name, title, text, analysis, **more)


DAY = 24 * 3600 * 1000

STORIES = (
    document(
        "d1", "Harbour strike",
        "Dockers in Port Alder began a strike on Monday. The union leader Mara Voss asked for"
        " higher wages.\n\nShips waited outside the harbour. Exporters of grain complained.",
        source="north", event_at=1 * DAY, observed_at=1 * DAY,
    ),
    document(
        "d2", "Mara Voss", "Mara Voss was born in Lindow and leads the dockers since spring.",
        source="who", event_at=2 * DAY, observed_at=2 * DAY, metadata={"desk": "people"},
    ),
    document(
        "d3", "Harbour strike ends",
        "The strike in Port Alder ended. Dockers accepted wages four percent higher.",
        source="south", event_at=3 * DAY, observed_at=3 * DAY,
    ),
    document(
        "d4", "Comet seen", "Astronomers saw the comet Telmar above the desert observatory.",
        source="north", event_at=4 * DAY, observed_at=4 * DAY,
    ),
    document(
        "d5", "Comet fades", "The comet Telmar fades. Observatory staff in the desert say so.",
        source="sky", lang="fr", event_at=5 * DAY, observed_at=5 * DAY,
    ),
    document(
        "d6", "Harbour strike ends",
        "The strike in Port Alder ended. Dockers accepted wages four percent higher.",
        source="copy", event_at=6 * DAY, observed_at=6 * DAY,
    ),
)  # fmt: skip

HARBOUR = ("port alder", "docker", "strike", "mara voss", "wage", "harbour", "ships", "grain")
SKY = ("comet", "telmar", "desert", "astronomers")


def stories(documents=STORIES, **more) -> MemoryView:
    """The small index with two communities of level 0, the first with two inside."""
    view = MemoryView(documents, DIMENSIONS, **more)

    def held(keys):
        return [key for key in keys if view.vocabulary.number(key) is not None]

    return view.grouped(
        {
            1: (0, 0, []),
            2: (0, 0, held(SKY)),
            3: (1, 1, held(HARBOUR[:5])),
            4: (1, 1, held(HARBOUR[5:])),
        }
    )
