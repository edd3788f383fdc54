"""The language models from settings: one for each role, with prices and ceilings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from deploy.settings import Settings
from query.memory import Memory
from query.model import assessor, refine
from query.model.calls import Role
from query.model.daybook import DayBook
from query.model.spending import Accounts, Ceilings, Member, Models, Price, Purse, Spent

if TYPE_CHECKING:  # its import takes a second that only who asks a model should pay
    from query.model.client import ModelClient


def models(settings: Settings, spent: Callable[[Spent], None]) -> Models | None:
    """The models that the settings name, None where they name none; ``spent`` is told each call."""
    if not settings.model:
        return None
    book = DayBook(settings.data)

    def noted(call: Spent) -> None:
        book.add(call)
        spent(call)

    clients = {name: _client(settings, name) for name in set(names(settings).values())}
    members = {
        role: Member(clients[name], name, price(settings, role), settings.model_thinking)
        for role, name in names(settings).items()
    }
    day = Purse("a day", Ceilings(settings.day_tokens_max, settings.day_money_max), book.today)
    each = Ceilings(settings.key_tokens_max, settings.key_money_max)
    return Models(
        members,
        question_ceilings(settings),
        day,
        noted,
        Accounts(each, book.today_of),
        closes=(book.close,),
    )


def memory(settings: Settings) -> Memory | None:
    """What the models judged before; None without a model, or where nothing is to be kept."""
    if not settings.model or not settings.model_memory:
        return None
    answers = names(settings)[Role.ANSWERS]
    return Memory(
        settings.data,
        tests=judge(settings),
        answers=f"{settings.model_url} {answers} {refine.RULES}",
        most=settings.model_memory,
    )


def judge(settings: Settings) -> str:
    """Names the model that tests, its server and its rules; "" without one."""
    tests = names(settings)[Role.TESTS]
    return f"{settings.model_url} {tests} {assessor.RULES} {refine.RULES}" if tests else ""


def names(settings: Settings) -> dict[Role, str]:
    """The model of each role."""
    return {
        Role.TESTS: settings.model_tests or settings.model,
        Role.ANSWERS: settings.model_answers or settings.model,
    }


def price(settings: Settings, role: Role) -> Price | None:
    """The price of a role's model, None where it is unknown."""
    given = {Role.TESTS: settings.model_tests_price, Role.ANSWERS: settings.model_answers_price}
    text = given[role]
    if not text and names(settings)[role] == settings.model:
        text = settings.model_price
    return Price(*(float(part) for part in text.split(","))) if text else None


def question_ceilings(settings: Settings) -> Ceilings:
    """What one question may spend."""
    return Ceilings(settings.question_tokens_max, settings.question_money_max)


def _client(settings: Settings, name: str) -> "ModelClient":
    from query.model.client import ModelClient, ModelSettings  # noqa: PLC0415  see above

    return ModelClient(
        ModelSettings(
            name=name,
            url=settings.model_url,
            key=settings.model_key.get_secret_value(),
            timeout=settings.model_timeout,
            concurrency=settings.model_concurrency,
            thinking=settings.model_thinking,
        )
    )
