"""The HTML report in a browser: it opens from disk, its charts answer, and its links join text and curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stethoscope import Diagnosis
from stethoscope.report.html.page import content, page
from stethoscope.run import Series
from tests.browser.conftest import Opened
from tests.report import patients

Open = Callable[..., Opened]
CANVAS = "#chart-1 .canvas"
READY = f"{CANVAS} canvas"


def report(diagnosis: Diagnosis, opened: Open, **options: Any) -> Opened:
    """The report, once its first chart is drawn."""
    one = opened(page(diagnosis), **options)
    one.page.wait_for_selector(READY)
    return one


def seen(one: Opened, chart: str = "chart-1") -> list[float]:
    return list(one.page.evaluate(f"stethoscope.seen('{chart}')"))


def pressed(one: Opened, tool: str, chart: str = "chart-1") -> str | None:
    found: str | None = one.page.get_attribute(f"#{chart} [data-tool={tool}]", "aria-pressed")
    return found


def test_it_opens_from_disk_without_a_complaint_or_a_request(opened: Open) -> None:
    one = report(patients.sick(), opened)
    assert one.complaints == []
    assert len(one.requests) == 1, "the file itself"
    assert one.page.title() == "sick: nano"
    assert one.page.is_hidden("#chart-1 .static")


@pytest.mark.parametrize("make", [patients.healthy, patients.unknown, patients.too_little, patients.hostile])
def test_every_kind_of_run_opens(make: Callable[[], Diagnosis], opened: Open) -> None:
    one = report(make(), opened)
    for tool in ("log", "in", "all"):
        one.page.click(f"#chart-1 [data-tool={tool}]")
    one.page.select_option("#chart-1 [data-tool=smoothing]", "0.1")
    assert one.complaints == []


def test_markup_in_names_is_never_run(opened: Open) -> None:
    attack = "</script><img src=x onerror=\"document.title='owned'\"><svg onload=\"document.title='owned'\">"
    sick = patients.sick()
    psnr = replace(sick.run.series["val/psnr"], name=attack)
    one = report(replace(sick, run=replace(sick.run, name=attack, series={attack: psnr})), opened)
    one.page.hover(CANVAS)
    assert one.page.query_selector("main img") is None
    assert "owned" not in one.page.title().removeprefix(f"sick: {attack}")
    assert one.page.title() == f"sick: {attack}"
    assert one.complaints == []


def test_dragging_zooms_every_chart_of_the_axis_and_a_button_shows_all_again(opened: Open) -> None:
    one = report(patients.sick(), opened)
    box = one.page.locator("#chart-1 .u-over").bounding_box()
    one.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 100)
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 110, steps=4)
    one.page.mouse.up()
    assert seen(one) == pytest.approx([150, 300], abs=5)
    assert seen(one, "chart-2") == seen(one)
    one.page.click("#chart-1 [data-tool=all]")
    assert seen(one) == [0, 600]


def test_the_wheel_zooms_a_chosen_chart_and_scrolls_the_page_otherwise(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.hover(CANVAS)
    one.page.mouse.wheel(0, -200)
    one.page.wait_for_timeout(100)
    assert seen(one) == [0, 600]
    one.page.focus(CANVAS)
    one.page.hover("#chart-1 .u-over")
    one.page.mouse.wheel(0, -200)
    one.page.wait_for_function("stethoscope.seen('chart-1')[1] - stethoscope.seen('chart-1')[0] < 500")


def test_hovering_tells_the_value(opened: Open) -> None:
    one = report(patients.sick(), opened)
    box = one.page.locator("#chart-1 .u-over").bounding_box()
    one.page.mouse.move(box["x"] + box["width"] / 6 + 1, box["y"] + 50)
    legend = one.page.locator("#chart-1 .u-legend")
    assert "100" in legend.inner_text()
    assert "24.5" in legend.inner_text()


def test_keys_move_zoom_and_change_the_scale(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.focus(CANVAS)
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowRight")
    assert one.page.inner_text("#said") == "step 100: val/psnr 24.5"
    one.page.keyboard.press("+")
    low, high = seen(one)
    assert high - low == pytest.approx(600 / 1.4, abs=20)
    one.page.keyboard.press("Shift+ArrowRight")
    assert seen(one)[0] > low
    one.page.keyboard.press("0")
    assert seen(one) == [0, 600]
    one.page.keyboard.press("l")
    assert pressed(one, "log") == "true"
    assert one.page.evaluate("document.activeElement.className") == "canvas"
    assert one.complaints == []


def test_a_log_scale_takes_zeros_and_negative_values(opened: Open) -> None:
    loss = patients.series("loss", (0.0, -3.0, 1e6, 1e-9, float("nan"), 2.0, 1.0))
    one = report(replace(patients.sick(), run=patients.run(loss)), opened)
    one.page.click("#chart-1 [data-tool=log]")
    assert pressed(one, "log") == "true"
    assert "logarithmic on both sides of zero" in one.page.inner_text("#chart-1 .note")
    assert one.complaints == []


def test_smoothing_never_replaces_the_raw_line(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.select_option("#chart-1 [data-tool=smoothing]", "0.03")
    legend = one.page.inner_text("#chart-1 .u-legend")
    assert "val/psnr, smoothed" in legend
    assert legend.count("val/psnr") == 2


def test_a_finding_shows_its_steps_and_a_mark_leads_to_its_finding(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.click("#finding-2 a.show")
    low, high = seen(one)
    assert low < 100 < 600 <= high
    assert low > 0
    assert one.page.evaluate("document.activeElement.className") == "canvas"
    one.page.click("#chart-1 a.mark.onset")
    assert one.page.url.endswith("#finding-2")
    assert one.page.evaluate("document.activeElement.id") == "finding-2"


def test_dark_mode_follows_the_screen_and_the_switch(opened: Open) -> None:
    one = report(patients.sick(), opened, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert one.page.evaluate(background) == "rgb(20, 24, 29)"
    one.page.click("[data-tool=theme]")
    assert one.page.evaluate(background) == "rgb(255, 255, 255)"
    assert one.page.get_attribute("[data-tool=theme]", "aria-pressed") == "false"
    assert one.complaints == []


def test_it_fits_a_telephone(opened: Open) -> None:
    one = report(patients.sick(), opened, viewport={"width": 360, "height": 740})
    assert one.page.evaluate("document.documentElement.scrollWidth") == 360
    outside = one.page.evaluate(
        "[...document.querySelectorAll('button, select, a.show, h1, h2')]"
        ".filter((e) => e.getBoundingClientRect().right > 361).length"
    )
    assert outside == 0


def test_it_prints_with_pictures_instead_of_canvases(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.emulate_media(media="print")
    assert one.page.is_visible("#chart-1 .static svg")
    assert one.page.is_hidden("#chart-1 .plot")
    assert one.page.pdf(format="A4").startswith(b"%PDF-")


def test_without_script_the_pictures_and_the_text_are_there(opened: Open) -> None:
    one = opened(page(patients.sick()), java_script_enabled=False)
    assert one.page.is_visible("#chart-1 .static svg")
    assert one.page.is_hidden("#chart-1 .plot")
    assert "A loss term has the wrong sign" in one.page.inner_text("#causes")


def test_a_long_run_is_drawn_quickly(opened: Open) -> None:
    steps = np.arange(1_000_000, dtype=np.int64)
    values = 1.0 + np.random.default_rng(0).normal(0, 0.1, len(steps))
    values[777_777] = 40.0
    run = patients.run(Series("loss", "loss", steps, values, patients.LOG))
    one = report(replace(patients.healthy(), run=run), opened)
    assert "of 1,000,000 points" in one.page.inner_text("#chart-1 .note")
    assert one.page.evaluate("Math.max(...stethoscope.drawn('chart-1')[1])") == 40


def test_the_report_can_be_replaced_while_it_is_read(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.click("#chart-1 [data-tool=in]")
    before = seen(one)
    inside = content(patients.unknown())
    one.page.evaluate(
        "(c) => stethoscope.replace(c)",
        {"title": inside.title, "markup": inside.markup, "data": inside.data},
    )
    one.page.wait_for_selector(READY)
    assert one.page.title() == "no verdict: nano"
    assert "the loss jumps to 9" in one.page.inner_text("main")
    assert seen(one) == before
    assert one.complaints == []


def test_the_charts_go_on_where_they_stand(opened: Open) -> None:
    one = report(patients.sick(), opened)
    one.page.click("#chart-1 [data-tool=in]")
    one.page.focus("#chart-1 .canvas")
    before = seen(one)
    data: dict[str, Any] = content(patients.sick()).data
    curve = data["charts"][0]["curves"][0]
    curve["steps"].append(1000)
    curve["values"].append(0.5)
    one.page.evaluate("() => { window.canvas = document.querySelector('#chart-1 canvas'); }")
    one.page.evaluate("(data) => stethoscope.goOn(data)", data)
    assert one.page.evaluate("stethoscope.drawn('chart-1')[1].at(-1)") == 0.5
    assert one.page.evaluate("document.querySelector('#chart-1 canvas') === window.canvas")
    assert one.page.evaluate("document.activeElement.matches('#chart-1 .canvas')")
    assert seen(one) == before
    assert one.complaints == []


def test_every_control_has_a_name_and_can_be_reached_by_key(opened: Open) -> None:
    one = report(patients.sick(), opened)
    unnamed = one.page.evaluate(
        "[...document.querySelectorAll('a, button, select, [tabindex=\"0\"]')]"
        ".filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).length"
    )
    assert unnamed == 0
    reached = set()
    for _ in range(25):
        one.page.keyboard.press("Tab")
        reached.add(
            one.page.evaluate("document.activeElement.dataset.tool || document.activeElement.className")
        )
    assert {"skip", "theme", "log", "smoothing", "canvas", "mark best", "mark onset"} <= reached


def test_in_the_frame_of_a_notebook_links_stay_in_the_frame(opened: Open) -> None:
    one = opened(f"<!doctype html><meta charset=utf-8>{patients.sick()._repr_html_()}")
    before = one.page.url
    one.page.click("text=The whole report")
    frame = one.page.frames[1]
    frame.wait_for_selector(READY)
    frame.click("#chart-1 a.mark.onset")
    assert frame.evaluate("document.activeElement.id") == "finding-2"
    assert one.page.url == before
    assert one.complaints == []
