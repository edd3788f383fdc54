"""Every constant of a search, each with where it comes from.

*Measured* means: on MuSiQue, HotpotQA and 2Wiki together (301 questions with known evidence), each
set judged with weights fitted on the two others.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LazySettings:
    """The rounds over communities.

    Attributes:
        k: Chunks of a community tested at a visit. The announcement names it without a value;
            five in the nearest code of its authors. With four subqueries and a budget of 100,
            five would spend a share before the first descent (a decision of this project).
        z: Barren communities in a row before the search goes down. Named without a value too;
            two for the same reason.
        root_k: Chunks of the whole corpus (level -1) tested before each visit. Ours: with rounds
            over communities alone the tests of a budget of 100 reached 2 to 5 points fewer of
            the evidence than the same ranking read from its top; with six before each three
            nothing is lost and breadth stays. 0 gives the announced rounds alone.
        patience: Visits in a row without a relevant chunk before the search gives up. Ours.
        best_of: A community's rank comes from its best chunks, this many, by the sum of their
            reciprocal ranks. Ours; the mean rank of the best five, as in the authors' nearest
            code, was within a point.
        homes: A chunk counts in this many communities of each level, those of the highest
            affinity (a decision of this project: a chunk touches 4.1 C0s on average).
    """

    k: int = 3
    z: int = 2
    root_k: int = 6
    patience: int = 12
    best_of: int = 3
    homes: int = 2


@dataclass(frozen=True, slots=True)
class WalkStart:
    """One random walk with restart over chunks and concepts.

    Attributes:
        seeds: Best chunks that the walk starts from.
        sharpness: Their weights are their share of the best score to this power.
        concept_restart: Share of the concept side that restarts at the question's concepts.
        chunk_restart: Share of the chunk side that restarts at the seeds.
        hub: A concept passes on its weight divided by (its edges to this power); below 1 a
            concept that many chunks name loses less.
    """

    seeds: int
    sharpness: float
    concept_restart: float
    chunk_restart: float
    hub: float


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """The walks of a ranking, all measured.

    Attributes:
        starts: A wide walk, and one that stays near the best chunks.
        steps: Steps in all; what is left after five changes no rank among the first hundred.
        title: Weight of an edge from a title's concept to the document's chunks.
    """

    starts: tuple[WalkStart, ...] = (
        WalkStart(seeds=10, sharpness=1.0, concept_restart=0.3, chunk_restart=0.3, hub=0.5),
        WalkStart(seeds=5, sharpness=3.0, concept_restart=0.5, chunk_restart=0.5, hub=1.0),
    )
    steps: int = 5
    title: float = 4.0


@dataclass(frozen=True, slots=True)
class RankSettings:
    """The chunk ranking: a weighted sum of signals, each between 0 and 1.

    The weights were fitted as a listwise softmax. ``walk`` False leaves similarity and full
    text, as in mode ``hybrid``.
    """

    walk: bool = True
    walks: WalkSettings = field(default_factory=WalkSettings)
    depth: int = 200
    """How far down each signal's own ranking counts."""
    bridge_from: int = 10
    """Best chunks whose concepts are looked for in titles."""
    bridge_titles: int = 20
    """A concept in more titles than this leads nowhere in particular."""
    weight_text: float = 0.7
    weight_similarity: float = 0.0
    weight_walks: tuple[float, ...] = (4.0, 3.8)
    weight_bridge: float = 2.2
    full_text_limit: int = 1000
    """Hits asked of the full-text index; all of them when filters leave less than a fifth."""
    verdict_weight: float = 0.25
    """What a verdict's log-odds, against those of its assessor's threshold, count in the final
    ranking beside the ranking's own score; what was not tested stays where the ranking has it."""


@dataclass(frozen=True, slots=True)
class ClaimSettings:
    """Extractive claims; all values are ours, chosen for an answer that fits on a screen.

    Attributes:
        most: Claims of an answer.
        words: Words of all claims together.
        share: Claims of one community before others come first.
        sentences_each: Quoted sentences of one chunk.
        sources_each: Citations of one claim.
        longest: Characters of a quote.
        same: Two quotes say the same where they share this part of their words.
        level: Level of the communities that claims are grouped by (0 is C0).
        heading: Concepts named over the claims of one community.
        baseline: Chunks from the top that a mode without relevance tests quotes.
    """

    most: int = 10
    words: int = 400
    share: int = 4
    sentences_each: int = 1
    sources_each: int = 6
    longest: int = 600
    same: float = 0.7
    level: int = 1
    heading: int = 3
    baseline: int = 10


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """All of a search.

    Attributes:
        candidates: Chunks of a subquery whose communities are walked over, whatever the budget;
            three times the budget are ranked if that is more, and read at level -1.
        ranking: Documents of the final ranking that an answer lists, at least.
        longest_context: Tokens of text that a baseline may answer from. Announced for vector
            search: 8,000, which is the default of a question, and 64,000.
        deadline: Seconds after which no further test is begun; a view is held for at most 120.
    """

    lazy: LazySettings = field(default_factory=LazySettings)
    rank: RankSettings = field(default_factory=RankSettings)
    claims: ClaimSettings = field(default_factory=ClaimSettings)
    candidates: int = 600
    ranking: int = 20
    deadline: float = 100.0
    largest_budget: int = 10_000
    longest_question: int = 2_000
    longest_context: int = 128_000
