"""The review for programs: schema 1, described by schema-review-1.json beside this file."""

from __future__ import annotations

import json
from importlib.resources import files

from stethoscope import __version__
from stethoscope.report.plain_json import plain
from stethoscope.report.where_json import places_json, where_json
from stethoscope.review import Claim, Contradiction, Missed, Review, Unparsed

Json = dict[str, object]

SCHEMA = 1
PROBABILITY_DIGITS = 4


def render(review: Review) -> str:
    """The review as one JSON object, ended by a newline."""
    return json.dumps(as_dict(review), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def as_dict(review: Review) -> Json:
    """The review as plain dictionaries, lists, strings and finite numbers."""
    told = {
        "schema": SCHEMA,
        "version": __version__,
        "documents": review.documents,
        "run": review.run or None,
        "run_verdict": review.verdict or None,
        "objectionable": review.is_objectionable,
        "counts": dict(review.counts),
        "claims": [_claim(one) for one in review.claims],
        "unparsed": [_unparsed(one) for one in review.unparsed],
        "missed": [_missed(one) for one in review.missed],
        "contradictions": [_contradiction(one) for one in review.contradictions],
        "notes": review.notes,
    }
    return {name: plain(value) for name, value in told.items()}


def schema() -> Json:
    """The JSON Schema of the review."""
    text = files("stethoscope.report").joinpath("schema-review-1.json").read_text(encoding="utf-8")
    described: Json = json.loads(text)
    return described


def _claim(claim: Claim) -> Json:
    change = claim.change
    return {
        "document": claim.document,
        "text": claim.text,
        "where": places_json(claim.where),
        "change": {
            "kind": change.kind.value,
            "key": change.key,
            "written": change.written,
            "to": change.to or None,
            "stated_before": change.before or None,
            "now": change.now or None,
            "direction": change.direction or None,
        },
        "verdict": claim.ruling.value,
        "why": claim.judgement.why,
        "evidence": [
            {"what": fact.what, "where": places_json(fact.where), "source": fact.source}
            for fact in claim.judgement.evidence
        ],
        "settle_by": claim.settle_by or None,
    }


def _unparsed(one: Unparsed) -> Json:
    return {"text": one.text, "where": where_json(one.where)}


def _missed(one: Missed) -> Json:
    return {
        "name": one.name,
        "title": one.title,
        "probability": round(float(one.probability), PROBABILITY_DIGITS),
        "verdict": one.standing,
        "why": one.why,
        "where": places_json(one.where),
    }


def _contradiction(one: Contradiction) -> Json:
    sides = [
        {"document": document, "to": value, "where": where_json(where)}
        for document, value, where in one.sides
    ]
    return {"key": one.key, "sides": sides}
