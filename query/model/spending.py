"""What models may cost: reserved before each call, settled after it, by role.

Ceilings hold for one question, for a day over all questions and for a day of each payer. A call is
reserved at its worst: a token for every two bytes that are sent, and the longest reply. What a
server does not count is taken as spent in full. A model without a price is unknown, not free: a
ceiling of money refuses it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from query.errors import PayerCeilingError
from query.model import refine
from query.model.calls import Model, ModelError, Prompt, Reply, Role

BYTES_A_TOKEN = 2
"""Fewer than any text in the languages of the news; four is common in English."""

_OVERHEAD = 400
"""Tokens of the schema and of the marks between messages."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, in the currency of the ceilings."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most that may be spent; None is without a ceiling, 0 allows nothing."""

    tokens: int | None = None
    money: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens and money; ``money`` None where the price is not known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Both ways."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Spent:
    """One call, done: what it cost, for which role; ``payer`` "" where nobody is named."""

    role: Role
    model: str
    cost: Cost
    payer: str = ""


def priced(prompt_tokens: int, completion_tokens: int, price: Price | None) -> Cost:
    """The cost of tokens at a price."""
    money = None
    if price is not None:
        money = (prompt_tokens * price.prompt + completion_tokens * price.completion) / _MILLION
    return Cost(prompt_tokens, completion_tokens, money)


def worst(prompt: Prompt, price: Price | None, thinking: int = 0) -> Cost:
    """The most that a call may cost."""
    sent = len(prompt.system.encode()) + len(prompt.user.encode())
    return priced(-(-sent // BYTES_A_TOKEN) + _OVERHEAD, prompt.most + thinking, price)


class Purse:
    """What is left under some ceilings; safe to use from several threads.

    Args:
        what: What the ceilings are of, in words: "a question", "a day".
        ceilings: The most that may be spent.
        before: What was spent already, as far as others know: tokens and money.
    """

    def __init__(
        self,
        what: str,
        ceilings: Ceilings,
        before: Callable[[], tuple[int, float]] = lambda: (0, 0.0),
    ) -> None:
        self._what = what
        self._ceilings = ceilings
        self._before = before
        self._tokens = 0
        self._money = 0.0
        self._lock = threading.Lock()

    def reserve(self, cost: Cost) -> str | None:
        """Set aside what a call may cost; otherwise say which ceiling forbids it."""
        with self._lock:
            refused = self._refused(cost)
            if refused is None:
                self._add(cost, 1)
            return refused

    def refused(self, cost: Cost) -> str | None:
        """Which ceiling would forbid a call, None where none does."""
        with self._lock:
            return self._refused(cost)

    def release(self, cost: Cost) -> None:
        """Give back what was reserved."""
        with self._lock:
            self._add(cost, -1)

    def spend(self, cost: Cost) -> None:
        """Take what a call did cost."""
        with self._lock:
            self._add(cost, 1)

    def _add(self, cost: Cost, sign: int) -> None:
        self._tokens += sign * cost.tokens
        self._money += sign * (cost.money or 0.0)

    def _refused(self, cost: Cost) -> str | None:
        most = self._ceilings
        if most.tokens is None and most.money is None:
            return None
        tokens, money = self._before()
        if most.tokens is not None and tokens + self._tokens + cost.tokens > most.tokens:
            return f"the ceiling of {most.tokens:,} tokens for {self._what} is reached"
        if most.money is not None and cost.money is None:
            return f"there is a ceiling of money for {self._what}, and its price is not known"
        if most.money is not None and money + self._money + (cost.money or 0.0) > most.money:
            return f"the ceiling of {most.money:g} for {self._what} is reached"
        return None


class Accounts:
    """A purse for each payer, with the same ceilings for a day; for several threads.

    Args:
        ceilings: What each may spend in a day.
        before: Tokens and money that a payer has spent today, as far as is noted.
    """

    def __init__(self, ceilings: Ceilings, before: Callable[[str], tuple[int, float]]) -> None:
        self._ceilings = ceilings
        self._before = before
        self._purses: dict[str, Purse] = {}
        self._lock = threading.Lock()

    def of(self, payer: str) -> Purse:
        """The purse of a payer."""
        with self._lock:
            if payer not in self._purses:
                spent = partial(self._before, payer)
                self._purses[payer] = Purse("a day of this key", self._ceilings, spent)
            return self._purses[payer]


_NO_ACCOUNTS = Accounts(Ceilings(), lambda _: (0, 0.0))
_LEAST = refine.question("")
"""The smallest call that a question begins with."""


@dataclass(frozen=True, slots=True)
class Member:
    """The model of one role with its name and price."""

    model: Model
    name: str
    price: Price | None = None
    thinking: int = 0


@dataclass(frozen=True, slots=True)
class Models:
    """Models by role under ceilings; itself a ``Model``, made anew for each question.

    ``spent`` is told each call that was answered; it and ``day`` may raise ``ModelError`` where
    spending cannot be noted, and nothing is spent unnoted.
    """

    members: Mapping[Role, Member]
    question: Ceilings
    day: Purse
    spent: Callable[[Spent], None]
    accounts: Accounts = _NO_ACCOUNTS
    purse: Purse = field(default_factory=lambda: Purse("a question", Ceilings()))
    payer: str = ""
    closes: tuple[Callable[[], None], ...] = ()

    def for_question(self, payer: str = "") -> "Models":
        """These models with all of a question's ceilings left; see ``Model``."""
        if payer:
            member = self.members[_LEAST.role]
            least = worst(_LEAST, member.price, member.thinking)
            with suppress(ModelError):  # where it cannot be read, each call will say so
                refused = self.accounts.of(payer).refused(least)
                if refused is not None:
                    raise PayerCeilingError(f"{refused}; a day begins at midnight UTC")
        purse = Purse("a question", self.question)
        return replace(self, purse=purse, payer=payer, closes=())

    def close(self) -> None:
        """Close each of them, then what keeps the spending."""
        for member in self.members.values():
            member.model.close()
        for close in self.closes:
            close()

    def ask(self, prompts: Sequence[Prompt]) -> list[Reply | ModelError]:
        """See ``Model.ask``; a prompt that a ceiling forbids is answered by an error."""
        answers: dict[int, Reply | ModelError] = {}
        granted: dict[Role, list[tuple[int, Cost]]] = {}
        for number, prompt in enumerate(prompts):
            member = self.members[prompt.role]
            cost = worst(prompt, member.price, member.thinking)
            refused = self._reserve(cost)
            if refused is None:
                granted.setdefault(prompt.role, []).append((number, cost))
            else:
                answers[number] = ModelError(refused)
        for role, reserved in granted.items():
            replies = self.members[role].model.ask([prompts[number] for number, _ in reserved])
            for (number, cost), reply in zip(reserved, replies, strict=True):
                answers[number] = self._settled(role, cost, reply)
        return [answers[number] for number in range(len(prompts))]

    def _reserve(self, cost: Cost) -> str | None:
        """Set aside a call in every purse, or in none and say which forbids it."""
        reserved: list[Purse] = []
        for purse in (self.purse, *self._of_the_day):
            try:
                refused = purse.reserve(cost)
            except ModelError as error:
                refused = str(error)
            if refused is not None:
                for other in reserved:
                    other.release(cost)
                return refused
            reserved.append(purse)
        return None

    @property
    def _of_the_day(self) -> tuple[Purse, ...]:
        """The purses whose spending is noted elsewhere."""
        return (self.day, self.accounts.of(self.payer)) if self.payer else (self.day,)

    def _settled(self, role: Role, reserved: Cost, reply: Reply | ModelError) -> Reply | ModelError:
        """Take the real cost and give back the reserve; a call in vain is taken as free."""
        try:
            if isinstance(reply, Reply):
                member = self.members[role]
                counted = reply.prompt_tokens or reply.completion_tokens
                real = priced(reply.prompt_tokens, reply.completion_tokens, member.price)
                cost = real if counted else reserved
                self.purse.spend(cost)
                self.spent(Spent(role, member.name, cost, self.payer))
        except ModelError as error:
            return error
        finally:
            for purse in (self.purse, *self._of_the_day):
                purse.release(reserved)
        return reply
