"""Kills processes of the program over and over, and compares with a run without faults."""

import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

from index.store.connection import open_readonly, store_path
from index.verify import verify
from stream.log import LogProducer, LogSource
from stream.outbox import LETTER
from stream.source import Message
from tests.faults.worker import POINTS, SIDES

TOPIC, DEAD = "news", "dead"
EACH_ROUND = 12
PATIENCE = 900
MOST_PASSED = {"random": 800, "checkpoint": 1}
"""Milliseconds of the random point; times that a process comes to others, three unless named."""
"""Seconds that a process may take, also where it is given what others leave of the machine."""
_WORDS = [
    *("harbour", "ferry", "strike", "council", "budget", "minister", "river", "flood", "copper"),
    *("mine", "export", "tariff", "court", "verdict", "bridge", "school", "hospital", "vaccine"),
    *("orchard", "storm", "railway", "signal", "tunnel", "museum", "painting"),
]


@dataclass
class Outcome:
    """What a series of kills came to; ``differences`` is empty where all is as without faults."""

    kills: Counter = field(default_factory=Counter)
    finished: int = 0
    differences: list[str] = field(default_factory=list)


def messages(count, source):
    """Inserts, edits, deletes, duplicates and rejects, in the order in which they are published."""
    made = []
    for number in range(count):
        kind = source.random()
        key = f"d{source.randrange(max(4, number // 2))}"
        if kind < 0.1:
            made.append(Message(key.encode(), None))
        elif kind < 0.2 and made:
            made.append(source.choice(made))
        elif kind < 0.28:
            made.append(Message(key.encode(), source.choice([b"not json", b"{}", b"\xff"])))
        else:
            body = {"id": key, "title": _phrase(source, 3), "text": _text(source)}
            made.append(Message(key.encode(), json.dumps(body).encode()))
    return made


def _text(source):
    return " ".join(f"The {_phrase(source, 4)} met the {_phrase(source, 2)}." for _ in range(4))


def _phrase(source, words):
    return " ".join(source.sample(_WORDS, words))


def run(
    work,
    kills,
    seed,
    *,
    points=POINTS,
    sides=SIDES,
    guard="guarded",
    told=lambda _: None,
    enough=lambda: False,
):
    """Kill so often, each time with some more of the stream published; then compare.

    Rounds whose process ends before it comes to its point are not counted. Where it is ``enough``
    before that, what was done until then is compared.
    """
    source, outcome = random.Random(seed), Outcome()
    rounds = 2 * kills  # at the very most
    stream = messages(EACH_ROUND * rounds, source)
    hurt, clean = work / "hurt", work / "clean"
    hurt.mkdir(parents=True)
    for number in range(rounds):
        if enough() or outcome.kills.total() >= kills:
            break
        _publish(hurt, stream[number * EACH_ROUND : (number + 1) * EACH_ROUND])
        point, side = source.choice(points), source.choice(sides)
        count = source.randint(1, MOST_PASSED.get(point, 3))
        code = _process(hurt, point, side, count, guard)
        if code == -signal.SIGKILL:
            outcome.kills[f"{point}, {side}"] += 1
        elif code == 0:
            outcome.finished += 1
        else:
            outcome.differences.append(f"round {number} ({point}, {side}) ended with {code}")
        told(f"{outcome.kills.total()} of {kills}: {point}, {side}, {count}: {code}")
    assert _process(hurt, "random", "before", 10**9, guard) == 0
    clean.mkdir()
    shutil.copyfile(hurt / "log.db", clean / "log.db")
    assert _process(clean, "random", "before", 10**9, "guarded") == 0
    outcome.differences += differences(hurt, clean)
    return outcome


def _publish(directory, batch):
    with closing(LogProducer(directory / "log.db")) as producer:
        producer.publish(TOPIC, batch)


def _process(directory, point, side, count, guard):
    settings = {"dead_letter_topic": DEAD, "batch_records": "3", "vectors": "edge"}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    worker = [sys.executable, "-m", "tests.faults.worker", point, side, str(count), guard]
    arguments = ["index", "--until-end", "--topic", TOPIC, "--data", str(directory), *words]
    with (directory / "said.txt").open("ab") as said:
        done = subprocess.run(
            [*worker, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=said,
            timeout=PATIENCE,
            check=False,
        )
    return done.returncode


def differences(hurt, clean):
    """What the two data directories do not have in common, named."""
    found = []
    ours, theirs = content(hurt), content(clean)
    for name, wanted in theirs.items():
        if ours[name] != wanted:
            found.append(f"{name}: {len(ours[name])} and without faults {len(wanted)}")
    failed = [check for check in verify(hurt).checks if not check.ok]
    return found + [f"{check.name}: {check.detail}" for check in failed]


def content(directory):
    """What a data directory holds, by names that do not depend on how batches were cut."""
    with closing(open_readonly(store_path(directory))) as connection:
        found = {name: connection.execute(query).fetchall() for name, query in _QUERIES.items()}
    found["published letters"] = _letters(directory)
    return found


_QUERIES = {
    "documents": "SELECT id, content_hash, version FROM documents ORDER BY id",
    "chunks and vectors": (
        "SELECT d.id, c.ordinal, c.start, c.end, c.vector FROM chunks c"
        " JOIN documents d ON d.number = c.document ORDER BY d.id, c.ordinal"
    ),
    "forms": (
        "SELECT c.key, f.text, f.n FROM forms f JOIN concepts c ON c.number = f.concept"
        " ORDER BY c.key, f.text"
    ),
    "tombstones": "SELECT id, version FROM tombstones ORDER BY id",
    "dead letters": "SELECT offset, reason, value FROM dead_letters ORDER BY offset",
    "positions": "SELECT * FROM positions ORDER BY 1, 2",
}


def _letters(directory):
    """The letters in the topic of the dead, each counted once by its number."""
    with closing(LogSource(directory / "log.db", [DEAD])) as source:
        source.seek({})
        records = source.poll(1_000_000, 0)
    by_number = {int(dict(record.headers)[LETTER]): record.value for record in records}
    return sorted(by_number.items())
