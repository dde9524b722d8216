"""The dashboard in a browser: a list that answers, a report that goes on, an edit that is made and undone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [dashboard] is not installed")
pytest.importorskip("uvicorn", reason="the extra [dashboard] is not installed")

from tests.browser.conftest import Opened, _note
from tests.cli.processes import surroundings
from tests.prescription.patients import LOG, MENDED, SETTINGS, sick_project

PATIENCE = 60_000  # milliseconds, on a machine that is busy
MARKUP = "<img src=x onerror=\"document.title='owned'\">"
ATTACK = f"{MARKUP}..%2f..%2fetc"
HEALTHY = "step,loss\n" + "".join(f"{step},{2.0 / (1 + step / 20):.5f}\n" for step in range(0, 400, 4))
DIVERGED = "step,loss,loss_scale\n" + "".join(
    f"{step},{'nan' if step > 200 else 0.9},{65536 / 2 ** max(0, step - 200) if step < 360 else 0}\n"
    for step in range(0, 400, 2)
)
# A training: least squares by stochastic gradients, a line in the log for every step of them.
TRAINING = """
import random, sys, time
weights, rate, random_ = [0.0, 0.0], 0.05, random.Random(0)
with open(sys.argv[1], "w", buffering=1) as log:
    log.write("step,loss\\n")
    for step in range(100_000):
        x = random_.uniform(-1, 1)
        error = weights[0] * x + weights[1] - (3 * x - 1 + random_.gauss(0, 0.1))
        weights = [weights[0] - rate * error * x, weights[1] - rate * error]
        log.write(f"{step},{error * error:.6f}\\n")
        time.sleep(0.0 if step < 60 else 0.25)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of every kind: well, sick, hostile, and a project that can be mended."""
    home = tmp_path_factory.mktemp("served") / "runs"
    for name, log in (("well/a", HEALTHY), ("well/b", HEALTHY), ("sick/c", DIVERGED), (ATTACK, HEALTHY)):
        (home / name).mkdir(parents=True)
        (home / name / "train.csv").write_text(log, encoding="utf-8")
    (home / ATTACK / "train.csv").unlink()
    lines = [{"step": step, "loss": 2 / (1 + step), MARKUP: 1.0} for step in range(100)]
    (home / ATTACK / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    project = sick_project(home / "nano")
    steps = "".join(f"step {step}: loss {2.0 / (1 + step / 20):.4f}\n" for step in range(0, 100, 10))
    (project / "train.log").write_text(steps + LOG)
    return home


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A dashboard over them."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stethoscope", "serve", "runs", "--no-browser", "--port", "0"],
        cwd=folder.parent,
        env=surroundings(HOME=str(folder.parent), XDG_CACHE_HOME=str(folder.parent / "cache")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said == ""


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Callable[..., Opened]]:
    """The list, with options of the browser's context."""
    contexts = []

    def open_page(path: str = "", **options: Any) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        one = Opened(context.new_page())
        one.page.on("console", lambda message: _note(one, message))
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.goto(address)
        one.page.wait_for_selector("#rows tr")
        return one

    yield open_page
    for context in contexts:
        context.close()


def names(one: Opened) -> list[str]:
    found: list[str] = one.page.locator("#rows .name").all_inner_texts()
    return found


def until(one: Opened, so: str) -> None:
    """Wait until something is so. The page forbids what Playwright's own waiting does: to evaluate a text."""
    for _ in range(PATIENCE // 100):
        if one.page.evaluate(f"(() => {{ try {{ return {so}; }} catch {{ return false; }} }})()"):
            return
        one.page.wait_for_timeout(100)
    raise AssertionError(f"it is still not so: {so}")


def open_run(one: Opened, name: str) -> None:
    one.page.click(f"#rows bdi:text-is('{name}')")
    one.page.wait_for_selector("#chart-1 .canvas canvas")


def last_step(one: Opened) -> int:
    until(one, "stethoscope.drawn('chart-1')[0].length > 0")
    return int(one.page.evaluate("stethoscope.drawn('chart-1')?.[0].at(-1)"))


def test_the_list_opens_and_is_examined_without_a_complaint_or_a_stranger(
    page: Callable[..., Opened], address: str
) -> None:
    one = page()
    until(one, "document.querySelectorAll('#rows .badge.waiting').length === 0")
    assert "token" not in one.page.url
    verdicts = one.page.locator("#rows .badge").all_inner_texts()
    assert verdicts[0] == "sick"
    assert {"sick", "healthy"} <= set(verdicts)
    base = address.split("/?")[0]
    assert [url for url in one.requests if not url.startswith((base, "data:"))] == []
    assert one.complaints == []


def test_searching_and_filtering_narrow_the_list_at_once(page: Callable[..., Opened]) -> None:
    one = page()
    until(one, "document.querySelectorAll('#rows .badge.waiting').length === 0")
    one.page.press("body", "/")
    one.page.keyboard.type("well")
    until(one, "document.querySelectorAll('#rows tr').length === 2")
    assert sorted(names(one)) == ["well/a", "well/b"]
    assert "q=well" in one.page.url
    one.page.fill("#search", "")
    one.page.select_option("#filters [name=verdict]", "sick")
    until(one, "[...document.querySelectorAll('#rows .badge')].every(b => b.innerText === 'sick')")
    assert "sick/c" in names(one)
    one.page.reload()
    one.page.wait_for_selector("#rows tr")
    assert "well/a" not in names(one)
    assert one.complaints == []


def test_a_report_goes_on_while_its_run_trains_and_keeps_its_zoom(
    page: Callable[..., Opened], folder: Path
) -> None:
    (folder / "live").mkdir()
    script = folder.parent / "train.py"
    script.write_text(TRAINING)
    training = subprocess.Popen([sys.executable, str(script), str(folder / "live" / "train.csv")])
    try:
        one = page()
        one.page.wait_for_selector("#rows bdi:text-is('live')")
        open_run(one, "live")
        first = last_step(one)
        until(one, f"stethoscope.drawn('chart-1')[0].at(-1) > {first + 3}")
        one.page.evaluate("stethoscope.view('step', [5, 40])")
        one.page.focus("#chart-1 .canvas")
        zoomed = last_step(one)
        until(one, f"stethoscope.drawn('chart-1')[0].at(-1) > {zoomed + 3}")
        assert one.page.evaluate("stethoscope.seen('chart-1')") == [5, 40]
        until(one, "document.activeElement.matches('#chart-1 .canvas')")
        assert "live" in one.page.inner_text("#status")
        assert one.complaints == []
    finally:
        training.kill()
        training.wait()


def test_what_is_found_later_moves_nothing_that_somebody_reads(
    page: Callable[..., Opened], folder: Path
) -> None:
    """A run falls sick while its page is open: an opened part, the focus, the scroll and the zoom stay."""
    log = folder / "falling" / "train.csv"
    log.parent.mkdir()
    log.write_text(HEALTHY)
    one = page(viewport={"width": 1100, "height": 500})
    one.page.wait_for_selector("#rows bdi:text-is('falling')")
    open_run(one, "falling")
    assert last_step(one) == 396
    one.page.evaluate("stethoscope.view('step', [40, 200])")
    one.page.locator("#after details > summary").first.click()
    one.page.evaluate(
        "() => { const summary = document.querySelector('#after details > summary'); summary.focus();"
        " summary.scrollIntoView({block: 'center'});"
        " window.kept = {summary, canvas: document.querySelector('#chart-1 canvas'),"
        " top: summary.getBoundingClientRect().top}; }"
    )
    with log.open("a") as stream:
        stream.writelines(f"{step},nan\n" for step in range(400, 520, 4))
    until(one, "document.querySelector('#before .badge').innerText !== 'healthy'")
    until(one, "document.querySelector('#report').innerText.includes('not finite')")
    assert one.page.evaluate("document.activeElement === kept.summary && kept.summary.isConnected")
    assert one.page.evaluate("kept.summary.parentElement.open")
    assert one.page.evaluate("Math.abs(kept.summary.getBoundingClientRect().top - kept.top)") <= 2
    assert one.page.evaluate("document.querySelector('#chart-1 canvas') === kept.canvas")
    assert one.page.evaluate("stethoscope.seen('chart-1')") == [40, 200]
    assert one.complaints == []


def test_nothing_that_fits_is_said_with_a_way_back(page: Callable[..., Opened]) -> None:
    one = page()
    one.page.fill("#search", "no run is called this")
    one.page.wait_for_selector("#count:has-text('No run fits')")
    assert one.page.is_hidden(".runs")
    one.page.click("#count a")
    one.page.wait_for_selector("#rows tr")
    assert one.page.input_value("#search") == ""
    assert one.complaints == []


def test_dragging_zooms_and_a_button_shows_all_again(page: Callable[..., Opened]) -> None:
    one = page()
    open_run(one, "well/a")
    box = one.page.locator("#chart-1 .u-over").bounding_box()
    one.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 60)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 70, steps=4)
    one.page.mouse.up()
    low, high = one.page.evaluate("stethoscope.seen('chart-1')")
    assert 80 < low < 120
    assert 180 < high < 220
    one.page.click("#chart-1 [data-tool=all]")
    assert one.page.evaluate("stethoscope.seen('chart-1')") == [0, 396]
    assert one.complaints == []


def test_a_run_that_is_truncated_or_deleted_is_said_and_the_page_lives_on(
    page: Callable[..., Opened], folder: Path
) -> None:
    home = folder / "passing"
    home.mkdir()
    (home / "train.csv").write_text(HEALTHY)
    one = page()
    one.page.wait_for_selector("#rows bdi:text-is('passing')")
    open_run(one, "passing")
    assert last_step(one) == 396
    (home / "train.csv").write_text("\n".join(HEALTHY.splitlines()[:31]) + "\n")
    until(one, "stethoscope.drawn('chart-1')[0].at(-1) === 116")
    (home / "train.csv").unlink()
    one.page.wait_for_selector("#status .notice.bad")
    assert "as it was last seen" in one.page.inner_text("#status")
    (home / "train.csv").write_text(HEALTHY)
    until(one, "stethoscope.drawn('chart-1')[0].at(-1) === 396")
    assert one.complaints == []


def test_a_prescription_is_written_after_a_confirmation_and_undone(
    page: Callable[..., Opened], folder: Path
) -> None:
    settings = folder / "nano" / "settings.yml"
    one = page()
    one.page.click("#rows bdi:text-is('nano')")
    one.page.click("#show-plan")
    one.page.wait_for_selector("dialog[open]")
    assert one.page.inner_text("#plan-title") == "Write these changes?"
    assert "2.0e-4" in one.page.inner_text("#plan .added")
    assert one.page.evaluate("document.activeElement.id") == "cancel"
    one.page.keyboard.press("Escape")
    one.page.wait_for_selector("dialog", state="hidden")
    assert settings.read_text() == SETTINGS
    one.page.click("#show-plan")
    one.page.click("#confirm")
    one.page.wait_for_selector("#applied:has-text('Written: settings.yml')")
    assert settings.read_text() == MENDED
    one.page.click("#undo")
    one.page.wait_for_selector("dialog[open]")
    one.page.click("#confirm")
    one.page.wait_for_selector("#applied:has-text('Put back: settings.yml')")
    assert settings.read_text() == SETTINGS
    assert one.complaints == []


def test_names_that_are_markup_or_paths_stay_text(page: Callable[..., Opened]) -> None:
    one = page()
    until(one, "document.querySelectorAll('#rows .badge.waiting').length === 0")
    assert ATTACK in names(one)
    one.page.locator("#rows a", has_text="onerror").click()
    one.page.wait_for_selector("#chart-1 .canvas canvas")
    one.page.hover("#chart-1 .canvas")
    assert MARKUP in one.page.inner_text("main")
    assert "owned" not in one.page.title().replace(ATTACK, "")
    assert one.page.query_selector("main img") is None
    assert re.fullmatch(r"/run/[0-9a-f]{20}", one.page.evaluate("location.pathname"))
    assert one.complaints == []


def test_two_runs_are_chosen_and_compared(page: Callable[..., Opened]) -> None:
    one = page()
    until(one, "document.querySelectorAll('#rows .badge.waiting').length === 0")
    one.page.check("#rows tr:has-text('well/a') .pick")
    one.page.check("#rows tr:has-text('sick/c') .pick")
    assert one.page.inner_text("#chosen") == "sick/c against well/a, the good one."
    one.page.click("#comparing button")
    one.page.wait_for_selector("#chart-1 .canvas canvas")
    assert "parts from" in one.page.inner_text("main")
    assert one.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_dark_where_asked_and_fits_a_telephone(
    scheme: str, page: Callable[..., Opened]
) -> None:
    one = page(color_scheme=scheme, viewport={"width": 360, "height": 740})
    for path in ("/", "/review", "/trials"):
        one.page.goto(one.page.evaluate("location.origin") + path)
        dark = one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
        assert dark == (scheme == "dark")
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    one.page.goto(one.page.evaluate("location.origin"))
    one.page.click("[data-tool=theme]")
    assert one.page.evaluate("document.documentElement.dataset.theme") == (
        "light" if scheme == "dark" else "dark"
    )
    open_run(one, "well/a")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert one.complaints == []


def test_the_dashboard_dies_and_the_page_says_so(browser: Any, folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stethoscope", "serve", str(folder), "--no-browser", "--port", "0"],
        env=surroundings(HOME=str(folder.parent), XDG_CACHE_HOME=str(folder.parent / "cache")),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        page.goto(process.stdout.readline().strip())
        page.wait_for_selector("#rows tr")
        os.killpg(process.pid, signal.SIGKILL)
        page.wait_for_selector("#banner .notice.bad")
        assert "does not answer" in page.inner_text("#banner")
        assert page.locator("#rows tr").count() > 0
    finally:
        context.close()
        process.kill()
        process.communicate()
