"""Lines read by their shapes give what a grammar gives line by line, in whatever pieces they come."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stethoscope.logs._reading.head import Head
from stethoscope.logs._reading.numbers import number
from stethoscope.logs._text.fields import tight
from stethoscope.logs._text.grammar import StepLine
from stethoscope.logs._text.reading import TextReading

_STEP = re.compile(r"\bstep[= ]\s*(\d[\d,]*)")


def step_line(line: str) -> StepLine | None:
    found = _STEP.search(line)
    values = tuple(place for place in tight(line) if place[0] != "step")
    if found is None and not values:
        return None
    return StepLine(values, found.span(1) if found else None)


def read(text: bytes, cuts: Callable[[int], int] = lambda left: left) -> dict[str, list[tuple[int, float]]]:
    """The points that the engine finds in a text that comes in pieces."""
    reading = TextReading(Head(Path("x.log"), "x.log", b"", 0), "test", step_line)
    at, rest = 0, b""
    while at < len(text):
        size = max(1, cuts(len(text) - at))
        rest += text[at : at + size]
        at += size
        rest = rest[reading.take(rest, at >= len(text)) :]
    points = reading.points
    return {
        name: [*zip(steps.array().tolist(), points.values[name].array().tolist(), strict=True)]
        for name, steps in points.steps.items()
    }


def expected(text: bytes) -> dict[str, list[tuple[int, float]]]:
    """The same, line by line."""
    points: dict[str, list[tuple[int, float]]] = {}
    last = 0
    for line in re.split(r"\r\n|\n|\r", text.decode("utf-8", errors="replace")):
        found = step_line(line)
        if found is None:
            continue
        if found.step:
            last = int(line[slice(*found.step)].replace(",", ""))
        for name, start, end in found.values:
            value = number(line[start:end])
            assert value is not None
            points.setdefault(name, []).append((last, value))
    return points


def assert_same(one: dict[str, list[tuple[int, float]]], other: dict[str, list[tuple[int, float]]]) -> None:
    assert one.keys() == other.keys()
    for name in one:
        assert [step for step, _ in one[name]] == [step for step, _ in other[name]]
        np.testing.assert_array_equal([v for _, v in one[name]], [v for _, v in other[name]])


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.floats(-1e6, 1e6).map(lambda value: f"{value:.4f}"),
    st.floats(1e-30, 1e30).map(lambda value: f"{value:.3e}"),
    st.integers(0, 10**19).map(str),
    st.integers(0, 10**9).map(lambda value: f"{value:,}"),
    st.sampled_from(["nan", "NaN", "-nan", "inf", "-inf", ".5", "5.", "+1.5", "1e5", "1E-05", "0"]),
)
NAMES = st.sampled_from(["loss", "acc1", "acc5", "lr", "bbox_mAP_50", "bbox_mAP_75", "x/y", "\u00e9t\u00e9"])


@st.composite
def line(draw: st.DrawFn) -> str:
    step = draw(st.sampled_from(["", "step {} ", "step={} ", "| step {:,} | "]))
    step = step.format(draw(st.integers(0, 10**7)))
    fields = draw(st.lists(st.tuples(NAMES, NUMBERS), max_size=4))
    return (
        draw(st.sampled_from(["", "\u2588 ", "[12:00:01] "]))
        + step
        + " ".join(f"{n}: {v}" for n, v in fields)
    )


@settings(max_examples=200, deadline=None)
@given(
    models=st.lists(line(), min_size=1, max_size=6),
    times=st.integers(1, 60),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
    seed=st.integers(0, 999),
    piece=st.integers(1, 4000),
)
def test_any_log_gives_what_its_lines_give(
    models: list[str], times: int, ends: str, seed: int, piece: int
) -> None:
    chance = random.Random(seed)
    lines = [re.sub(r"\d", lambda _: str(chance.randrange(10)), chance.choice(models)) for _ in range(times)]
    text = (ends.join(lines) + ends).encode()
    wanted = expected(text)
    assert_same(read(text), wanted)
    assert_same(read(text, lambda left: chance.randint(1, min(left, piece))), wanted)


def test_values_of_any_width_are_read_together() -> None:
    chance = random.Random(0)
    text = "".join(
        f"step {i} loss: {chance.random()!r} lr: {chance.random() * 1e-5!r}\n" for i in range(5000)
    )
    assert_same(read(text.encode()), expected(text.encode()))


def test_digits_in_names_are_not_taken_for_values() -> None:
    text = "".join(f"step {i} acc{1 if i % 2 else 5}: 0.{i % 7}\n" for i in range(100)).encode()
    found = read(text)
    assert [len(found["acc1"]), len(found["acc5"])] == [50, 50]
    assert_same(found, expected(text))


@pytest.mark.parametrize("odd", [":", ";", "<", "=", "?", "/", "a", " ", "-"])
def test_what_is_no_digit_does_not_pass_for_one(odd: str) -> None:
    good = b"step 100 loss: 0.25\n" * 40
    text = good + f"step 1{odd}0 loss: 0.25\n".encode() + good
    assert_same(read(text), expected(text))


def test_lines_are_numbered_as_in_the_file() -> None:
    text = b"a\r\nb\rbar step 1 loss: 2\rbar step 2 loss: 3\nstep 3 loss: 4\n"
    reading = TextReading(Head(Path("x.log"), "x.log", b"", 0), "test", step_line)
    reading.take(text, True)
    assert reading.points.lines["loss"] == (2, 3)
