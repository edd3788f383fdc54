"""The errors of ``query``: what was asked cannot be answered, and what to ask instead."""


class QueryError(Exception):
    """Base of all errors of a question; ``code`` is its lasting name for programs."""

    code = "query_error"


class EmptyQuestionError(QueryError):
    """The question has no word in it."""

    code = "empty_question"


class QuestionTooLongError(QueryError):
    """The question is longer than the limit of the settings."""

    code = "question_too_long"


class BadBudgetError(QueryError):
    """The relevance test budget is outside the limits of the settings."""

    code = "bad_budget"


class BadModeError(QueryError):
    """What a mode is told cannot be: a level below the first, a context too short or too long."""

    code = "bad_mode"


class PayerCeilingError(QueryError):
    """The key that a question came with may spend no more on models today."""

    code = "key_ceiling"


class BadFilterError(QueryError):
    """A filter cannot be: an empty or negative window, for example."""

    code = "bad_filter"


class UnknownConceptError(QueryError):
    """The index holds no concept of that key."""

    code = "unknown_concept"


class UnknownCommunityError(QueryError):
    """The hierarchy holds no community of that id, or no such level."""

    code = "unknown_community"
