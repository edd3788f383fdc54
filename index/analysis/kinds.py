"""The type of a concept, by rules: what stands before it, in it, and in the word lists."""

import re
from collections.abc import Sequence

from index.analysis.lexicon import phrases, words
from index.analysis.normalise import fold
from index.types import ConceptKind

_PLACES = phrases("places")
_ORGANISATIONS = words("organisations")
_GEOGRAPHY = words("geography")
_FIRST_NAMES = words("first_names")
_ACRONYM = re.compile(r"[A-Z][A-Z&]{1,5}$")
_INITIAL = re.compile(r"[A-Z]\.?$")
_LONGEST_PERSON = 4


def name_kind(key: str, parts: Sequence[str], *, after_title: bool) -> ConceptKind:
    """The kind of a name written as ``parts``; ``after_title`` as in "Officer Johnson"."""
    folded = [fold(part) for part in parts]
    if key in _PLACES:
        return ConceptKind.PLACE
    if _is_organisation(parts, folded):
        return ConceptKind.ORGANISATION
    if len(parts) <= _LONGEST_PERSON and (after_title or _is_person(parts, folded)):
        return ConceptKind.PERSON
    if len(parts) > 1 and (folded[-1] in _GEOGRAPHY or folded[0] in {"lake", "mount", "cape"}):
        return ConceptKind.PLACE
    if len(parts) == 1 and _ACRONYM.match(parts[0]):
        return ConceptKind.ORGANISATION
    return ConceptKind.OTHER


def _is_organisation(parts: Sequence[str], folded: Sequence[str]) -> bool:
    if "&" in parts or (len(parts) > 1 and folded[-1] in _ORGANISATIONS):
        return True
    # "Bank of England", "University of California at Berkeley": the first noun tells.
    return "of" in folded and folded[folded.index("of") - 1] in _ORGANISATIONS


def _is_person(parts: Sequence[str], folded: Sequence[str]) -> bool:
    if len(parts) == 1 or folded[-1] in _GEOGRAPHY:
        return False
    if folded[0] in _FIRST_NAMES:
        return True
    middle_initial = any(_INITIAL.match(part) for part in parts[1:-1])
    return middle_initial or (bool(_INITIAL.match(parts[0])) and parts[0][-1] == ".")
