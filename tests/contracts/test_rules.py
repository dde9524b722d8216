"""What is true of every rule."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import pytest

from stethoscope.findings import RuleEntry, apply, catalogue
from stethoscope.run import Run, Series
from stethoscope.signals import Missing, measure

HEADINGS = ["What it checks", "Why it matters", "When it is harmless", "References"]
PREFIX_OF_FAMILY = {
    "numerics": "NUM",
    "amp": "AMP",
    "loss": "LOS",
    "validation": "VAL",
    "schedule": "SCH",
    "settings": "SET",
    "code": "COD",
    "checkpoints": "CKP",
    "loop": "LOP",
    "precision": "PRC",
    "objective": "OBJ",
    "evaluation": "EVA",
    "data": "DAT",
    "resume": "RES",
    "hardware": "HRD",
    "ranks": "RNK",
    "ending": "END",
    "warned": "WRN",
}
SIGNALS = (
    *("loss", "loss/l1", "loss/ssim", "weight/l1", "weight/ssim", "grad_norm", "grad_norm/g", "lr", "lr/0"),
    *("loss_scale", "skipped", "val/loss", "val/psnr", "val/ssim", "val/accuracy", "train/accuracy"),
    *("difficulty", "step_time", "data_time", "throughput", "mem", "epoch", "param_norm", "update_ratio"),
)
CURVES = {
    "empty": (),
    "one point": (1.0,),
    "one NaN": (math.nan,),
    "two points": (1.0, 2.0),
    "all NaN": (math.nan,) * 200,
    "all infinite": (math.inf,) * 200,
    "of both infinities": (math.inf, -math.inf) * 100,
    "NaN but for one": (math.nan,) * 100 + (1.0,) + (math.nan,) * 99,
    "all zero": (0.0,) * 200,
    "constant": (0.7,) * 200,
    "as large as numbers get": (1.7e308, -1.7e308) * 100,
    "as small as numbers get": (5e-324, 0.0) * 100,
    "negative": tuple(-float(step) for step in range(200)),
}

every_rule = pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.name)


@every_rule
def test_a_rule_documents_itself_under_four_headings(rule: RuleEntry) -> None:
    assert re.fullmatch(r"[A-Z`].*[.]", rule.summary), rule.summary
    assert re.findall(r"^## (.+)$", rule.page, re.MULTILINE) == HEADINGS
    sections = re.split(r"^## .+$", rule.page, flags=re.MULTILINE)[1:]
    assert all(section.strip() for section in sections)


@every_rule
def test_a_code_says_its_family(rule: RuleEntry) -> None:
    assert re.fullmatch(rf"{PREFIX_OF_FAMILY[rule.family]}[0-9]{{3}}", rule.code)


def test_no_two_rules_share_a_code_or_a_name() -> None:
    codes = Counter(rule.code for rule in catalogue())
    names = Counter(rule.name for rule in catalogue())
    assert [name for name, times in (codes + names).items() if times > 1] == []


@pytest.mark.parametrize("curve", CURVES)
@every_rule
def test_a_rule_survives_any_curve(rule: RuleEntry, curve: str) -> None:
    values = np.array(CURVES[curve], dtype=np.float64)
    steps = np.arange(len(values), dtype=np.int64) * 10
    run = Run("run", "run", series={name: Series(name, name, steps, values, "a.csv") for name in SIGNALS})
    outcome = apply(rule, measure(run))
    assert not (isinstance(outcome, Missing) and "the rule itself failed" in outcome.why), outcome


@every_rule
def test_a_rule_with_nothing_to_look_at_says_so(rule: RuleEntry) -> None:
    outcome = apply(rule, measure(Run("run", "run")))
    assert isinstance(outcome, Missing)
    assert "the rule itself failed" not in outcome.why
