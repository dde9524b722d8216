"""The pages of docs/science and their pictures say what the records say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import detector_size_and_power
from detector_study.in_words import IN_WORDS

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
ROUNDING = 0.2  # pixels that a point may lie elsewhere on another machine


def test_pages_and_pictures_are_those_of_the_records() -> None:
    for path, text in detector_size_and_power.written().items():
        kept = path.read_text(encoding="utf-8")
        assert NUMBER.sub("", kept) == NUMBER.sub("", text), path
        there, here = ([float(one) for one in NUMBER.findall(whole)] for whole in (kept, text))
        assert there == (pytest.approx(here, abs=ROUNDING) if path.suffix == ".svg" else here), path


def test_every_detector_is_told_in_words() -> None:
    assert {study.detector for study in detector_size_and_power.all_studies()} == set(IN_WORDS)
