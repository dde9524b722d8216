"""The settings for programs: schema 1, one entry for each quantity."""

from __future__ import annotations

import json

from stethoscope.recipe.quantities import Amount, Asked
from stethoscope.report.plain_json import plain
from stethoscope.report.where_json import where_json
from stethoscope.run import Run
from stethoscope.signals.training_plan import Entry, InEffect, TrainingPlan

SCHEMA = 1


def render(plan: TrainingPlan, run: Run) -> str:
    """Every quantity, also those that nothing speaks of."""
    told = {
        "schema": SCHEMA,
        "path": run.path,
        "length": {"steps": plan.extent.steps, "epochs": plan.extent.epochs, "why": plan.extent.why},
        "quantities": [_entry(entry) for entry in plan],
    }
    return json.dumps(plain(told), ensure_ascii=False, indent=2) + "\n"


def _entry(entry: Entry) -> dict[str, object]:
    return {
        "quantity": entry.quantity,
        "asked": [_asked(one) for one in entry.asked],
        "in_effect": [_in_effect(one) for one in entry.in_effect],
        "differs": entry.differs is not None,
    }


def _asked(one: Asked) -> dict[str, object]:
    return {
        "setting": one.name,
        **_amount(one.amount),
        "default": one.is_default,
        "where": where_json(one.setting.where),
    }


def _in_effect(one: InEffect) -> dict[str, object]:
    return {
        **_amount(one.amount),
        "known_from": one.how,
        "said": one.said,
        "where": [where_json(place) for place in one.where],
    }


def _amount(amount: Amount) -> dict[str, object]:
    return {"value": amount.value, "unit": amount.unit or None, "part": amount.part or None}
