"""Fit the temperature of stated probabilities on a bench that was scored, and keep it.

stethoscope clinic bench --tier full --into BENCH
.venv/bin/python scripts/calibrate.py BENCH             say what fits
.venv/bin/python scripts/calibrate.py BENCH --write     write it to src/stethoscope/causes/calibration.py
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from stethoscope.causes import calibration
from stethoscope.clinic.faultbench.bench import joined, kept_opinions, labels_in
from stethoscope.clinic.faultbench.calibrating import FEWEST, Fit, fit
from stethoscope.clinic.faultbench.measured import Measured


def main() -> None:
    """Fit with each kind of evidence and with both together, which is what counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    labels = labels_in(asked.folder)
    said = kept_opinions(asked.folder / "opinions.jsonl")
    runs = {evidence: joined(labels, opinions, Measured()) for evidence, opinions in said.items()}
    for evidence, some in runs.items():
        print(f"{evidence.value}: {shown(fit(some))}")
    best = fit(run for some in runs.values() for run in some)
    print(f"together: {shown(best)}")
    if asked.write:
        keep(best)


def shown(found: Fit) -> str:
    """A fit in words."""
    (before, after), (apart, less) = found.log_loss, found.calibration_error
    return (
        f"T = {found.temperature:.2f} on {found.runs} runs; log loss {before:.3f} -> {after:.3f}, "
        f"calibration error {apart:.3f} -> {less:.3f}"
    )


def keep(found: Fit) -> None:
    """Write the temperature where the line reads it."""
    if found.runs < FEWEST:
        raise SystemExit(
            f"calibrate: {found.runs} runs have a cause named; {FEWEST} are needed to keep a fit."
        )
    file = Path(calibration.__file__)
    line = f"TEMPERATURE = {found.temperature:.2f}  # fitted on {found.runs} runs of the tuning part"
    file.write_text(re.sub(r"^TEMPERATURE = .*$", line, file.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
