"""``evaluate --judge``: answers compared in pairs, as a table or as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy.assembly import evaluating, judging
from deploy.assembly.evaluating import Queries
from deploy.assembly.streams import Told
from deploy.cli import session
from deploy.settings import Settings
from query.judging import Comparison
from query.plan import SHORTEST_CONTEXT
from query.settings import SearchSettings
from query.types import Mode

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be compared, as it was given; ``synthetic`` 0 where the questions are given."""

    modes: tuple[Mode, ...]
    budgets: tuple[int, ...]
    contexts: str
    systems: tuple[str, ...]
    trials: int
    synthetic: int


def run(
    settings: Settings,
    documents: Path,
    queries: Queries | None,
    wanted: Wanted,
    told: Told,
    *,
    as_json: bool,
) -> None:
    """Compare, and print."""
    longest = SearchSettings().longest_context
    contexts = evaluating.numbers_of(wanted.contexts, "--contexts", SHORTEST_CONTEXT, longest)
    ways = judging.ways_of(wanted.modes, wanted.budgets, contexts)
    systems = judging.systems_of(wanted.systems)
    judging.check(settings, ways, systems)
    with evaluating.replayed(settings, documents, told) as replayed:
        if queries is None:
            queries = judging.made(settings, replayed, wanted.synthetic)
        found, answers = judging.judged(
            settings,
            replayed.engine,
            documents,
            queries,
            ways,
            systems,
            trials=wanted.trials,
            told=told,
        )
    if as_json:
        asked = [
            {"query": query.text, "evidence_doc_ids": sorted(query.evidence)}
            for query in queries.judged
        ]
        rows = [{**asdict(row), "interval": list(row.interval)} for row in found]
        session.print_json({"comparisons": rows, "questions": asked, "answers": answers})
    else:
        show(session.console(), found)


def show(out: Console, rows: Sequence[Comparison]) -> None:
    """Win rates with the bounds of 95% of them; a star where chance is unlikely."""
    title = f"{rows[0].questions:,} questions; win rates of the first, ties a half"
    drawn = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in ("first", "against", "criterion", "win rate", "won", "lost", "p", "unjudged"):
        drawn.add_column(
            name, justify="left" if name in {"first", "against", "criterion"} else "right"
        )
    for row in rows:
        low, high = row.interval
        star = " *" if row.p < SIGNIFICANT else ""
        rate = f"{row.win_rate:.2f} ({low:.2f}-{high:.2f})"
        counts = (f"{row.won:,}", f"{row.lost:,}", f"{row.p:.3g}{star}", f"{row.unjudged:,}")
        drawn.add_row(row.ours, row.theirs, row.criterion, rate, *counts)
    out.print(drawn)
