"""How often textbook tests speak on the healthy curves that the detectors were measured on.

    python benchmarks/naive_tests.py            all draws, kept in benchmarks/recorded/naive_tests.json
    python benchmarks/naive_tests.py --quick    a twentieth of them, printed only

The curves are those of benchmarks/detector_size_and_power.py, drawn with the same seeds. It needs scipy.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy
from detector_size_and_power import QUICK, all_studies
from detector_study.naive import NaiveTest, naive_tests
from detector_study.study import Study, rates

RECORD = Path(__file__).resolve().parent / "recorded" / "naive_tests.json"


def main() -> None:
    """Measure all of them."""
    parser = argparse.ArgumentParser(description="Size of textbook tests on the detectors' healthy curves.")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the draws, printed only")
    quick = parser.parse_args().quick
    studies = {study.detector: study for study in all_studies()}
    tests = [_measured(test, studies[test.detector], QUICK if quick else 1.0) for test in naive_tests()]
    record = {"numpy": np.__version__, "scipy": scipy.__version__, "tests": tests}
    text = json.dumps(record, indent=1) + "\n"
    if quick:
        sys.stdout.write(text)
    else:
        RECORD.write_text(text, encoding="utf-8")


def _measured(test: NaiveTest, study: Study, share: float) -> dict[str, object]:
    began = time.process_time()
    found = rates(replace(study, says=test.says, faults=()), share)
    print(f"{test.detector}: {time.process_time() - began:.1f} s", file=sys.stderr)
    cells = [
        {"label": rate.label, "count": rate.count, "repeats": rate.repeats, "spoke": rate.spoke}
        for rate in found
    ]
    return {"detector": test.detector, "words": test.words, "nominal": test.nominal, "cells": cells}


if __name__ == "__main__":
    main()
