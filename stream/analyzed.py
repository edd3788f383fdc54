"""Records that bring their analysis with them, so that the writer need not analyse."""

from dataclasses import dataclass

from index.admission import Plan
from index.types import Analysis, Document, Reason, Record, Rejected, Upsert


@dataclass(frozen=True, slots=True)
class AnalyzedRecord(Record):
    """A record of the source with its analysis, None where it has none."""

    analysis: Analysis | Rejected | None = None


def brought(plan: Plan) -> dict[str, Analysis | Rejected]:
    """The analyses that a plan's records brought, by document id."""
    found: dict[str, Analysis | Rejected] = {}
    for admitted in plan.final.values():
        record, content = admitted.arrival.record, admitted.arrival.content
        analysis = record.analysis if isinstance(record, AnalyzedRecord) else None
        if analysis is not None and isinstance(content, Upsert):
            found[content.document.id] = fitting(content.document, analysis)
    return found


def without_analysis(plan: Plan) -> list[Document]:
    """The documents of a plan that must be analysed here."""
    found = brought(plan)
    return [document for document in plan.documents if document.id not in found]


def fitting(document: Document, analysis: Analysis | Rejected) -> Analysis | Rejected:
    """The analysis if it can be that of the document, else a rejection that says why not."""
    if isinstance(analysis, Rejected):
        return analysis
    if analysis.document_id != document.id:
        why = f"it is that of {analysis.document_id!r}"
    elif analysis.chunks and analysis.chunks[-1].end > len(document.text):
        why = "its chunks lie beyond the end of the text"
    else:
        return analysis
    return Rejected(Reason.ANALYSIS_FAILED, f"the analysis does not fit the document: {why}")
