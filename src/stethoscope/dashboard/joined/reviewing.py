"""A second opinion on a document, as `stethoscope review` gives it."""

from __future__ import annotations

from stethoscope.dashboard.houses import House
from stethoscope.dashboard.joined.answer import Answer

PASTED = "what was pasted"


def reviewed(house: House, text: str, document: str, run: str) -> Answer:
    """Judge a document below the folder, or a pasted text, against a run where one is named."""
    from stethoscope.clinic.recorded import RECORDS
    from stethoscope.dashboard.pages import second_opinion
    from stethoscope.diagnose import diagnose
    from stethoscope.report import review_json
    from stethoscope.report.plain_json import plain
    from stethoscope.review import read_document, recorded_in, review
    from stethoscope.review.document import decoded, text_of

    if document:
        reading = read_document(text_of(house.path(document)), document)
    else:
        reading = read_document(decoded(text.encode("utf-8", errors="replace"), PASTED), PASTED)
    diagnosis = diagnose(str(house.path(run))) if run else None
    result = review([reading], diagnosis, recorded_in(RECORDS) if diagnosis else ())
    told = {name: plain(value) for name, value in review_json.as_dict(result).items()}
    return Answer("Review", str(second_opinion.content(result)), told)
