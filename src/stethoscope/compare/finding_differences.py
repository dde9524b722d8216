"""What is found in one run and not in the other."""

from __future__ import annotations

from collections.abc import Sequence

from stethoscope.compare.comparison import FindingDifferences
from stethoscope.diagnose import Diagnosis
from stethoscope.findings import Found, Severity


def finding_differences(goods: Sequence[Diagnosis], bad: Diagnosis) -> FindingDifferences:
    """The findings by the rules that made them; notes are left out."""
    in_good = [found for one in goods for found in _symptoms(one)]
    in_bad = _symptoms(bad)
    good_rules = {found.rule.code for found in in_good}
    bad_rules = {found.rule.code for found in in_bad}
    return FindingDifferences(
        tuple(found for found in in_bad if found.rule.code not in good_rules),
        tuple(found for found in in_good if found.rule.code not in bad_rules),
        tuple(found for found in in_bad if found.rule.code in good_rules),
    )


def _symptoms(diagnosis: Diagnosis) -> list[Found]:
    return [found for found in diagnosis.examination.found if found.severity is not Severity.NOTE]
