"""Records become plain values and come back exactly; what is wrong is named with its place."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from stethoscope.guard import plain


@dataclass(frozen=True, slots=True)
class Inner:
    points: tuple[tuple[int, float], ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    inner: Inner
    count: int = 0
    high: bool = False


def test_a_record_comes_back_equal() -> None:
    record = Outer(Inner(((1, 2.5), (2, 0.1)), "x"), 3, True)
    values = plain.to_plain(record)
    assert values == {"inner": {"points": [[1, 2.5], [2, 0.1]], "name": "x"}, "count": 3, "high": True}
    assert plain.from_plain(Outer, values) == record


def test_what_is_missing_takes_its_default() -> None:
    assert plain.from_plain(Outer, {"inner": {}}) == Outer(Inner())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "Outer is incomplete"),
        ({"inner": []}, r"Outer.inner is \[\]; expected an object"),
        ({"inner": {"points": [[1]]}}, r"Outer.inner.points\[0\] has 1 values; expected 2"),
        ({"inner": {"points": [["a", 1.0]]}}, r"points\[0\]\[0\] is 'a'; expected int"),
        ({"inner": {}, "count": True}, "count is True; expected int"),
        ({"inner": {}, "other": 1}, "other, which is not known here"),
        ({"inner": {"points": 3}}, "points is 3; expected a list"),
    ],
)
def test_what_is_wrong_is_named(values: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plain.from_plain(Outer, values)
