"""Draw how evidence becomes a probability, with the numbers of the program and of one recorded run.

.venv/bin/python scripts/explanation_pictures.py    write docs/pictures/science/weights.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stethoscope import diagnose
from stethoscope.causes.cause import COMMON, DECISIVE, MODERATE, OCCASIONAL, RARE, STRONG, WEAK
from stethoscope.causes.weighing import chance
from stethoscope.figures import svg
from stethoscope.figures.chart import Chart, Estimate, Estimates, Figure, Line, Mark

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "science" / "weights.svg"
EXAMPLE = "examples/nano-sr"
MOST = 12.0  # log-odds of evidence, to the right


def main() -> None:
    """Write the picture."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(svg.render(picture()), encoding="utf-8")


def picture() -> Figure:
    """What a sum of weights amounts to, and the sum of one cause."""
    return Figure(title="From evidence to a probability", panels=[_curve(), _sum()], columns=2)


def _curve() -> Chart:
    weights = np.linspace(-2.0, MOST, 141)
    kinds = (("common", COMMON), ("occasional", OCCASIONAL), ("rare", RARE))
    return Chart(
        title="What a sum of weights amounts to",
        x_label="evidence for, minus evidence against (log-odds)",
        y_label="probability",
        lines=[Line(f"{name} cause", weights, [chance(prior + w) for w in weights]) for name, prior in kinds],
        marks=[
            Mark(weight, name)
            for name, weight in (
                ("weak", WEAK),
                ("moderate", MODERATE),
                ("strong", STRONG),
                ("decisive", DECISIVE),
            )
        ],
        y_limits=(0.0, 1.0),
    )


def _sum() -> Estimates:
    first = diagnose(str(ROOT / EXAMPLE)).explanation.causes[0]
    prior = first.entry.cause.prior
    arguments = [*first.arguments_for, *first.arguments_against]
    rows = [_row("how often it is met", prior), *(_row(one.rule, one.weight) for one in arguments)]
    return Estimates(
        title=f"{first.name} in {EXAMPLE}",
        x_label="weight (log-odds)",
        rows=rows,
        reference=0.0,
        note=f"Probability {first.probability:.3f}. Evidence from curves counts 4 in all, at most.",
    )


def _row(name: str, weight: float) -> Estimate:
    return Estimate(
        name, weight, min(weight, 0.0), max(weight, 0.0), "good" if weight > 0 else "bad", f"{weight:+.1f}"
    )


if __name__ == "__main__":
    main()
