"""What is framed is found again, and nothing else is."""

from __future__ import annotations

import json
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stethoscope.run.flight_record import (
    END,
    LARGEST_F32,
    ROW,
    Schema,
    dumped,
    event_line,
    framed,
    frames_in,
    object_in,
    packed_frame,
    record_name,
    row_packer,
    schema_frame,
    schema_in,
    storable,
    whole_number,
)

LOSS = Schema(("loss", "lr"), frozenset({"lr"}), {"rank": 0})


def row(step: int, *values: float) -> bytes:
    return packed_frame(row_packer(LOSS).pack(ROW, 3, step, 1.5e9, *values))


def test_frames_that_are_alike_are_found_together() -> None:
    data = schema_frame(3, LOSS) + row(0, 1.0, 0.1) + row(1, math.nan, 0.1) + framed(END, 0, b"{}")
    found = frames_in(data)
    assert [(one.kind, one.schema, one.times) for one in found.frames] == [
        (1, 3, 1),
        (ROW, 3, 2),
        (END, 0, 1),
    ]
    assert found.frames[1].size == LOSS.row_size
    assert (found.end, found.damage) == (len(data), "")


def test_half_a_frame_is_left_for_later() -> None:
    data = row(0, 1.0, 0.1) + row(1, 1.0, 0.1)
    for cut in range(LOSS.row_size, len(data)):
        found = frames_in(data[:cut])
        assert (found.end, found.damage) == (LOSS.row_size, "")


@given(st.integers(min_value=0, max_value=2 * 34 - 1), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_never_believed(place: int, change: int) -> None:
    data = bytearray(row(0, 1.0, 0.1) + row(1, 2.0, 0.1))
    data[place] ^= change
    found = frames_in(bytes(data))
    whole = place // LOSS.row_size
    assert sum(one.times for one in found.frames) == whole
    assert found.end == whole * LOSS.row_size


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    found = frames_in(data)
    assert 0 <= found.end <= len(data)
    schema_in(data)


@given(st.lists(st.text(st.characters()), max_size=40))
def test_any_names_come_back(names: list[str]) -> None:
    schema = Schema(tuple(names))
    (frame,) = frames_in(data := schema_frame(0, schema)).frames
    assert schema_in(data[10 : frame.size]) == schema


def test_what_is_no_schema_gives_none() -> None:
    for text in (
        b"",
        b"[]",
        b'{"names": 3}',
        b'{"names": [1]}',
        b"[" * 100_000,
        b'{"names": ' + b"9" * 5000 + b"}",
    ):
        assert schema_in(text) is None
    odd = schema_in(b'{"names": ["a"], "sparse": 1, "about": []}')
    assert odd == Schema(("a",))


def test_a_number_too_large_is_the_largest_there_is_and_infinity_stays() -> None:
    values = {
        "a": 1e300,
        "b": -1e300,
        "c": math.inf,
        "d": math.nan,
        "e": 10**400,
        "f": "x",
        "g": None,
        "h": True,
    }
    found = storable(values)
    assert (found["a"], found["b"], found["c"], found["e"]) == (
        LARGEST_F32,
        -LARGEST_F32,
        math.inf,
        LARGEST_F32,
    )
    assert math.isnan(found["d"])
    assert found["h"] == 1.0
    assert "f" not in found
    assert "g" not in found


def test_every_line_of_events_is_json_for_any_program() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    facts = {
        "nan": math.nan,
        "path": Path("a"),
        "set": {1},
        "huge": 10**5000,
        3: "key",
        "loop": loop,
        "\ud800": "\n",
    }
    line = event_line({"kind": "x", "facts": facts, "onset": None, "means": ""})
    assert line.count(b"\n") == 1

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    said = json.loads(line, parse_constant=refuse)
    assert said["kind"] == "x"
    assert said["facts"]["nan"] == "nan"
    assert said["facts"]["set"] == [1]
    assert said["facts"]["3"] == "key"
    assert "onset" not in said
    assert "means" not in said
    assert object_in(line)["kind"] == "x"


def test_names_of_records_sort_by_time() -> None:
    names = [record_name(start, 0) for start in (1e9, 1e9 + 1e-5, 1e9 + 0.5, 1e9 + 59.999999, 1.7e9)]
    assert names == sorted(set(names))
    assert names[-1] == "flight-20231114T221320.000000Z-rank0"


def test_a_whole_number_is_one() -> None:
    assert whole_number({"a": 3}, "a") == 3
    for value in (True, -1, 2.0, "3", None):
        assert whole_number({"a": value}, "a") is None
    assert dumped({"a": 1.5}) == '{"a":1.5}'
