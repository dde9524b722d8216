"""The terminal shows as much as fits, the most important first, and never more than it has room for."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from stethoscope.report.terminal import plain_console
from stethoscope.watching.screen import drawn
from stethoscope.watching.state import State
from stethoscope.watching.watch import Watch
from tests.watching.runs import begun


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> State:
    folder = tmp_path_factory.mktemp("runs") / "\x1b[2Jevil\u202e[bold]name"
    begun(folder, 100, broken_from=50)
    watch = Watch(str(folder))
    watch.look()
    return watch.state


def screen(state: State, width: int, height: int) -> list[str]:
    rows = drawn(state, "Ctrl-C ends", plain_console(width), width, height)
    assert len(rows) <= height
    assert all(row.cell_len <= width for row in rows)
    return [row.plain for row in rows]


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 5, 12, 24, 60])
def test_any_size_is_filled_and_never_left(sick: State, width: int, height: int) -> None:
    screen(sick, width, height)
    screen(State("runs/nowhere", waiting="runs/nowhere: no such file or directory."), width, height)


def test_a_usual_terminal_shows_it_all(sick: State) -> None:
    rows = screen(sick, 80, 24)
    text = "\n".join(rows)
    assert "critical NUM101 non-finite-values" in text
    assert "step 99" in rows[0]
    assert any(row.startswith("loss ") and "not finite" in row for row in rows)
    assert "Not examined:" in text
    assert rows[-1] == "Ctrl-C ends"


def test_a_tiny_terminal_shows_the_worst(sick: State) -> None:
    rows = screen(sick, 20, 8)
    assert any(row.startswith("critical NUM101") for row in rows)


def test_hostile_names_are_shown_and_do_not_act(sick: State) -> None:
    text = "".join(screen(sick, 120, 30))
    assert r"\x1b[2Jevil\u202e[bold]name" in text
    assert text.isprintable()


def test_a_terminal_that_knows_only_ascii_gets_only_ascii(sick: State) -> None:
    console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), width=40, color_system=None)
    rows = drawn(sick, "", console, 40, 24)
    assert all(row.plain.isascii() for row in rows)
    assert any(row.plain.endswith("~") for row in rows)


def test_waiting_is_said() -> None:
    rows = screen(State("runs/nano", waiting="runs/nano: no such file or directory."), 80, 24)
    assert rows[1] == "waiting: runs/nano: no such file or directory"
