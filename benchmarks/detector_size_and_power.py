"""How often each detector speaks on healthy data, and how often it finds what it is meant for.

    python benchmarks/detector_size_and_power.py --quick            a twentieth of the draws, printed only
    python benchmarks/detector_size_and_power.py                    all of them, kept in benchmarks/recorded/
    python benchmarks/detector_size_and_power.py --only trend peak  some detectors, printed only
    python benchmarks/detector_size_and_power.py --page             pages and pictures, from the records

Every cell is a kind of data (detector_study/) drawn many times with a seed of its own, so that the same
figures come out again. A detector's size is how often it speaks on healthy data, its power how often it does
on a fault.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
from detector_study import of_curves, of_known_causes, of_points, of_schedules
from detector_study.explained import explained, memory_picture, textbook_picture
from detector_study.page import page, slug
from detector_study.pictures import picture
from detector_study.study import Rate, Study, rates

from stethoscope.figures import svg

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks" / "recorded" / "detector_size_and_power.json"
NAIVE = ROOT / "benchmarks" / "recorded" / "naive_tests.json"
SCIENCE = ROOT / "docs" / "science"
PICTURES = ROOT / "docs" / "pictures"
QUICK = 0.05


def main() -> None:
    """Measure what is asked for."""
    asked = _arguments()
    if asked.page:
        _write_page()
        return
    chosen = [study for study in all_studies() if not asked.only or study.detector in asked.only]
    began = time.process_time()
    found = list(_measured(chosen, QUICK if asked.quick else 1.0))
    if asked.quick or asked.only:
        _print(chosen, found)
        return
    record: dict[str, object] = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cpu_seconds": round(time.process_time() - began),
        "studies": [_kept(study, found) for study in chosen],
    }
    if RECORD.exists():  # what earlier studies led to stays on the page
        record["changed"] = json.loads(RECORD.read_text(encoding="utf-8")).get("changed", [])
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    _write_page()


def all_studies() -> tuple[Study, ...]:
    """Every study, in the order of the page."""
    return (*of_curves.studies(), *of_known_causes.studies(), *of_points.studies(), *of_schedules.studies())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Size and power of the detectors.")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the draws")
    parser.add_argument("--only", nargs="*", default=[], help="names of detectors")
    parser.add_argument("--page", action="store_true", help="write pages and pictures from the records")
    return parser.parse_args()


def _measured(studies: Iterable[Study], share: float) -> Iterable[Rate]:
    for study in studies:
        began = time.process_time()
        yield from rates(study, share)
        print(f"{study.detector}: {time.process_time() - began:.1f} s", file=sys.stderr)


def _kept(study: Study, found: Iterable[Rate]) -> dict[str, object]:
    own = [asdict(rate) for rate in found if rate.detector == study.detector]
    cells = [{key: value for key, value in one.items() if key != "detector"} for one in own]
    return {
        "detector": study.detector,
        "question": study.question,
        "nominal": study.nominal,
        "cells": cells,
    }


def _print(studies: Iterable[Study], found: Iterable[Rate]) -> None:
    for study in studies:
        print(f"\n{study.detector}: {study.question} (nominal {study.nominal})")
        for rate in found:
            if rate.detector == study.detector:
                print(f"  {rate.kind:8} {rate.label:48} n={rate.count:<5} {rate.spoke / rate.repeats:.3f}")


def _write_page() -> None:
    for path, text in written().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def written() -> dict[Path, str]:
    """The pages and pictures that the records give."""
    record, naive = (json.loads(file.read_text(encoding="utf-8")) for file in (RECORD, NAIVE))
    tests = {test["detector"]: test for test in naive["tests"]}
    pictures = {
        f"detectors/{slug(study['detector'])}": picture(study, tests.get(study["detector"]))
        for study in record["studies"]
    }
    pictures["science/memory"] = memory_picture()
    pictures["science/textbook-tests"] = textbook_picture(record, naive)
    return {
        SCIENCE / "detectors.md": page(record, naive),
        SCIENCE / "tests-on-curves.md": explained(record, naive),
        **{PICTURES / f"{name}.svg": svg.render(drawn) for name, drawn in pictures.items()},
    }


if __name__ == "__main__":
    main()
