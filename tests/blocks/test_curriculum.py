"""Difficulty as a function of optimizer steps."""

from __future__ import annotations

import io
import math
import warnings
from typing import get_args

import pytest
import torch

from stethoscope.blocks.curriculum import Curriculum, Shape, difficulty_at
from tests.blocks.docstring_example import run_example

SHAPES: tuple[Shape, ...] = get_args(Shape)


def test_the_fast_exponential_is_the_one_of_the_protein_system() -> None:
    """Its table: the way made good at 0, .1, .2, .5 and 1 of the time; it is applied as 0.1 + 0.9 of it."""
    curriculum = Curriculum("fast-exponential", steps=5000, start=0.1)
    for step, way in {0: 0.0, 500: 0.259, 1000: 0.451, 2500: 0.777, 5000: 0.950}.items():
        assert curriculum.at(step) == pytest.approx(0.1 + 0.9 * way, abs=6e-4)
    assert curriculum.at(50_000) == pytest.approx(1.0)


def test_the_slow_exponential_is_slow_at_the_start_and_reaches_the_end() -> None:
    curriculum = Curriculum("slow-exponential", steps=1000)
    for part in (0.1, 0.5, 0.9):
        expected = (math.e ** (3 * part) - 1) / (math.e**3 - 1)
        assert curriculum.at(round(1000 * part)) == pytest.approx(expected)
    assert curriculum.at(500) == pytest.approx(0.1824, abs=1e-4)
    assert curriculum.at(1000) == 1.0


def test_linear_and_cosine_at_quarters() -> None:
    assert [difficulty_at(step, shape="linear", steps=8) for step in (0, 2, 4, 6, 8, 80)] == [
        0,
        0.25,
        0.5,
        0.75,
        1,
        1,
    ]
    cosine = [difficulty_at(step, shape="cosine", steps=8) for step in (0, 2, 4, 6, 8, 80)]
    assert cosine == pytest.approx([0, (1 - math.sqrt(0.5)) / 2, 0.5, (1 + math.sqrt(0.5)) / 2, 1, 1])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_stays_between_its_ends_and_never_falls(shape: Shape) -> None:
    curriculum = Curriculum(shape, steps=50, start=0.1, end=0.8)
    values = [curriculum.at(step) for step in range(200)]
    assert values == sorted(values)
    assert values[0] == (0.8 if shape == "constant" else 0.1)
    assert all(0.1 <= value <= 0.8 for value in values)


def test_a_difficulty_may_fall() -> None:
    curriculum = Curriculum("cosine", steps=10, start=2.0, end=1.0)
    assert [curriculum.at(step) for step in (0, 5, 10)] == pytest.approx([2.0, 1.5, 1.0])


def test_evaluation_holds_the_difficulty_and_training_goes_on_where_it_was() -> None:
    curriculum = Curriculum("linear", steps=10)
    for _ in range(3):
        curriculum.step()
    with curriculum.fixed() as held:
        assert held == curriculum.difficulty == 1.0
        with curriculum.fixed(0.5):
            assert curriculum.log() == {"curriculum/difficulty": 0.5, "curriculum/step": 3}
        assert curriculum.difficulty == 1.0
        with pytest.raises(RuntimeError, match="takes no optimizer steps"):
            curriculum.step()
    assert curriculum.difficulty == 0.3


def test_the_difficulty_goes_on_after_an_evaluation_that_raises() -> None:
    curriculum = Curriculum("linear", steps=10)
    with pytest.raises(KeyError), curriculum.fixed():
        raise KeyError("sample")
    assert curriculum.difficulty == 0.0


def test_a_curriculum_longer_than_the_run_is_told_at_the_start() -> None:
    with pytest.warns(UserWarning, match="takes 20000 optimizer steps and the run 3700.* 0.185, not 1"):
        Curriculum("linear", steps=20_000, run_steps=3_700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Curriculum("linear", steps=3_700, run_steps=3_700)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_state_goes_through_a_file_and_goes_on_exactly(shape: Shape) -> None:
    curriculum = Curriculum(shape, steps=40, start=0.1)
    for _ in range(17):
        curriculum.step()
    file = io.BytesIO()
    torch.save(curriculum.state_dict(), file)
    file.seek(0)
    resumed = Curriculum(shape, steps=40, start=0.1)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for _ in range(30):
        assert resumed.log() == curriculum.log()
        curriculum.step()
        resumed.step()
    assert resumed.state_dict() == curriculum.state_dict()


def test_a_resume_with_another_length_says_where_the_difficulty_jumps() -> None:
    curriculum = Curriculum("linear", steps=10)
    for _ in range(5):
        curriculum.step()
    other = Curriculum("linear", steps=50)
    with pytest.warns(
        UserWarning, match=r"\{'steps': 10\}: after 5 steps the difficulty goes from 0.5 to 0.1"
    ):
        other.load_state_dict(curriculum.state_dict())


def test_shapes_and_lengths_that_do_not_exist_are_refused() -> None:
    with pytest.raises(
        ValueError, match="shape is 'exponential'; give one of linear, cosine, slow-exponential"
    ):
        Curriculum("exponential", steps=10)
    with pytest.raises(ValueError, match="steps is 0"):
        Curriculum("linear", steps=0)


def test_the_example_runs() -> None:
    assert "evaluated at 1.0" in run_example("curriculum")
