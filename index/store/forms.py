"""How concepts are written: the surface forms of each, with how many chunks use them."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping

import orjson

Form = tuple[int, str]
"""A concept's number, and a way in which a text writes it."""


class FormCounts:
    """How often each surface form names its concept: signed changes, written once a batch."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._changes: Counter[int] = Counter()

    def use(self, uses: Mapping[Form, int], first_new: int) -> dict[Form, int]:
        """Count some uses more of each form; return the forms' numbers, made for those not there.

        ``first_new``: concepts from this number on have no form yet.
        """
        numbers = self._stored({concept for concept, _ in uses if concept < first_new})
        query = "SELECT ifnull(max(number), 0) FROM forms"
        last: int = self._connection.execute(query).fetchone()[0]
        fresh = []
        for form, count in uses.items():
            number = numbers.get(form)
            if number is None:
                last += 1
                numbers[form] = last
                fresh.append((last, *form, count))
            else:
                self._changes[number] += count
        self._connection.executemany(
            "INSERT INTO forms (number, concept, text, n) VALUES (?, ?, ?, ?)", fresh
        )
        return numbers

    def _stored(self, concepts: Iterable[int]) -> dict[Form, int]:
        """All forms of some concepts; one statement for a batch, a look-up of each is dear."""
        rows = self._connection.execute(
            "SELECT concept, text, number FROM forms"
            " WHERE concept IN (SELECT value FROM json_each(?))",
            (orjson.dumps(sorted(concepts)).decode(),),
        )
        return {(concept, text): number for concept, text, number in rows.fetchall()}

    def withdraw(self, forms: Iterable[int]) -> None:
        """Count one use less of each form."""
        self._changes.subtract(forms)

    def flush(self) -> None:
        """Write the changes; forms that are used no more are removed."""
        rows = sorted((number, change) for number, change in self._changes.items() if change)
        self._connection.executemany(
            "UPDATE forms SET n = n + ? WHERE number = ?",
            [(change, number) for number, change in rows],
        )
        gone = [(number,) for number, change in rows if change < 0]
        self._connection.executemany("DELETE FROM forms WHERE number = ? AND n <= 0", gone)
        self._changes.clear()
