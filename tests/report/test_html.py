"""The HTML report is one inert, self-contained file, whatever the run is called and however long it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from stethoscope import Diagnosis
from stethoscope.figures.colours import DARK, LIGHT, Colours
from stethoscope.report.html import charts
from stethoscope.report.html.curve_data import NEIGHBOURS, curve_data
from stethoscope.report.html.diffs import highlighted
from stethoscope.report.html.markup import data_block, element, text
from stethoscope.report.html.page import content, page, script, style
from stethoscope.report.html.palette import VARIABLES
from stethoscope.report.html.palette import rules as palette_rules
from stethoscope.report.timeline import Kind, timeline
from stethoscope.run import Segment, Series
from tests.report import patients

MADE = {
    "healthy": patients.healthy,
    "sick": patients.sick,
    "unknown": patients.unknown,
    "too-little": patients.too_little,
    "hostile": patients.hostile,
}
VOID = frozenset({"meta", "br", "hr", "link", "wbr"})
MEGABYTE = 1_000_000
ATTACKS = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "\u202egnp.exe\u2066",
    "a\x00b\x1b[2J\u2028c",
    "]]><!--",
    "javascript:alert(1)",
    "{{7*7}}${7*7}",
    "L" * 100_000,
    "__proto__",
)


class Parsed(HTMLParser):
    """The elements of a page in their order, with their attributes, and the text outside of scripts."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unbalanced: list[str] = []
        self.words: list[str] = []
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.blocks:
            self.blocks[tag].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.blocks:
            self.blocks[self.open[-1]][-1] += data
        else:
            self.words.append(data)

    def attributes(self, name: str) -> list[str]:
        return [found for _, attrs in self.elements if (found := attrs.get(name)) is not None]


def data_of(markup: str) -> Any:
    return json.loads(Parsed(markup).blocks["script"][0])


def named(name: str) -> Diagnosis:
    """The sick run, with this name wherever a stranger's text can stand."""
    sick = patients.sick()
    made = {name: replace(sick.run.series["val/psnr"], name=name, logged_as=name)}
    return replace(sick, run=replace(sick.run, name=name, path=name, series=made))


@pytest.mark.parametrize("name", MADE)
def test_every_page_is_well_formed_and_has_each_id_once(name: str) -> None:
    parsed = Parsed(page(MADE[name]()))
    assert (parsed.open, parsed.unbalanced) == ([], [])
    ids = parsed.attributes("id")
    assert len(ids) == len(set(ids))
    targets = {link[1:] for link in parsed.attributes("href")}
    assert targets <= set(ids), "every link leads somewhere on the page"
    described = {one for each in parsed.attributes("aria-describedby") for one in each.split()}
    assert described <= set(ids)


@pytest.mark.parametrize("name", MADE)
def test_a_page_loads_nothing_and_runs_only_its_own_script(name: str) -> None:
    parsed = Parsed(page(MADE[name]()))
    assert parsed.attributes("src") == []
    assert all(link.startswith("#") for link in parsed.attributes("href"))
    assert not [
        key for _, attrs in parsed.elements for key in attrs if key.startswith("on") or key == "style"
    ]
    (policy,) = [
        attrs["content"]
        for tag, attrs in parsed.elements
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{digest(script())}'"
    assert rules["style-src"] == f"'{digest(style())}'"
    assert "unsafe" not in (policy or "")
    scripts = [attrs for tag, attrs in parsed.elements if tag == "script"]
    assert [attrs.get("type") for attrs in scripts] == ["application/json", None]
    assert parsed.blocks["script"][1] == script()
    assert parsed.blocks["style"] == [style()]


def digest(inline: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def test_neither_script_nor_style_can_end_its_own_element() -> None:
    assert "</script" not in script().lower()
    assert "<!--" not in script()
    assert "</style" not in style().lower()
    assert not re.search(r"@import|url\((?!['\"]?data:)", style())
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|eval)\b", script())


@pytest.mark.parametrize("name", ATTACKS, ids=range(len(ATTACKS)))
def test_a_hostile_name_is_text(name: str) -> None:
    usual, attacked = Parsed(page(named("nano"))), Parsed(page(named(name)))
    tags = [tag for tag, _ in attacked.elements]
    assert {"img", "iframe", "object"}.isdisjoint(tags)
    assert tags.count("script") == 2
    keys = {key for _, attrs in attacked.elements for key in attrs}
    assert keys <= {key for _, attrs in usual.elements for key in attrs}
    shown = "".join(attacked.words)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u2028]", shown)
    assert max(map(len, attacked.words)) < 5_000


def test_a_whole_hostile_run_makes_a_small_page() -> None:
    written = page(patients.hostile())
    assert len(written.encode("utf-8")) < MEGABYTE
    assert "\x1b" not in written
    assert "\u202e" not in written


def test_data_in_a_script_stays_data() -> None:
    given = {"name": "</script><!--\u2028 & <b>", "values": [float("nan"), np.float32(1.5), None]}
    block = str(data_block("data", given))
    inside = block.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == {"name": given["name"], "values": ["nan", 1.5, None]}


def test_text_is_escaped_where_it_becomes_markup() -> None:
    assert str(element("p", "a < b & c", title='"x"')) == '<p title="&quot;x&quot;">a &lt; b &amp; c</p>'
    assert str(text("\u202eevil")) == "\\u202eevil"
    assert str(element("b", " a ", element("i", "b"), " ", "c", hidden=True, id=None)) == (
        "<b hidden> a <i>b</i> c</b>"
    )


def test_the_same_diagnosis_gives_the_same_bytes() -> None:
    assert page(patients.sick()) == page(patients.sick())


def test_a_sick_run_shows_verdict_causes_diff_checkpoint_and_what_was_not_examined() -> None:
    words = " ".join("".join(Parsed(page(patients.sick())).words).split())
    for said in (
        "sick",
        "A loss term has the wrong sign",
        "Speaks for it",
        "the source minimises a similarity",
        "Speaks against it",
        "the loss falls smoothly",
        "on (x, x) it is 1",
        "return 1 - score",
        "clinic trial nano-sr",
        "models/net_g_200.pth",
        "the optimiser",
        "Train again from the start with the changes: 600 steps",
        "every checkpoint was trained on the wrong thing from the first step",
        "A high loss scale",
        "switch to bf16",
        "no gradient norm",
        "log(norm)",
        "best val/psnr: 24.5",
        "runs/nano/train.log:99",
    ):
        assert said in words, said


def test_a_finding_leads_to_its_steps_and_a_mark_to_its_finding() -> None:
    written = page(patients.sick())
    parsed = Parsed(written)
    (chart,) = [one for one in data_of(written)["charts"] if one["title"] == "val/psnr"]
    shown = [attrs for tag, attrs in parsed.elements if tag == "a" and attrs.get("class") == "show"]
    assert {"data-chart": chart["id"], "data-first": "100", "data-last": "600"}.items() <= shown[0].items()
    onset = next(mark for mark in chart["marks"] if mark["kind"] == "onset")
    assert (onset["step"], onset["to"]) == (100, "finding-2")
    assert {"onset", "best", "checkpoint"} == {mark["kind"] for mark in chart["marks"]}


def test_every_chart_is_told_in_words_and_drawn_without_script() -> None:
    written = page(patients.sick())
    parsed = Parsed(written)
    drawn = data_of(written)["charts"]
    assert len(drawn) == written.count('role="img"') == 2
    assert {f"{one['id']}-summary" for one in drawn} <= set(parsed.attributes("id"))
    assert "val/psnr goes from 20 at step 0 to 20.5 at step 600, between 20 and 24.5" in written


# --- a million points


def long_series(name: str = "loss", points: int = 1_000_000) -> Series:
    noise = np.random.default_rng(0).normal(0.0, 0.05, points)
    steps = np.arange(points, dtype=np.int64)
    values = 4.0 * (steps + 1000.0) ** -0.15 + noise
    values[600_000 % points] = 50.0
    values[points * 7 // 10 : points * 7 // 10 + points // 100] = np.nan
    return Series(name, name, steps, values, patients.LOG)


def test_a_million_points_make_less_than_a_megabyte() -> None:
    made = {name: long_series(name, 250_000) for name in ("loss", "val/loss", "lr", "grad_norm")}
    long = patients.run(*made.values())
    assert len(page(replace(patients.sick(), run=long)).encode()) < MEGABYTE


def test_hundreds_of_series_make_less_than_a_megabyte() -> None:
    many = [long_series(f"layer{at}/norm", 5_000) for at in range(300)]
    written = page(replace(patients.sick(), run=patients.run(*many)))
    assert len(written.encode()) < MEGABYTE
    assert len(data_of(written)["charts"]) == charts.MOST_CHARTS
    assert "276 series not drawn" in written


def test_thinning_keeps_extremes_gaps_marked_steps_and_ends() -> None:
    series = long_series()
    marked = 333_333
    data = curve_data(series, 500, [marked])
    steps, values = np.cumsum(data["steps"]), data["values"]
    known = {int(step): value for step, value in zip(steps, values, strict=True)}
    assert known[600_000] == 50.0
    assert min(value for value in values if value is not None) == pytest.approx(
        np.nanmin(series.values), rel=1e-5
    )
    assert {0, 999_999} <= known.keys()
    assert set(range(marked - NEIGHBOURS, marked + NEIGHBOURS + 1)) <= known.keys()
    inside = [value for step, value in known.items() if 700_000 <= step < 710_000]
    assert inside == [None], "a gap is one point that is none"
    assert np.all(np.diff(steps) > 0)
    assert len(values) < 4 * 500 + 50
    assert sum(count for _, count in data["nonFinite"]) == 10_000


def test_a_smoothed_line_is_made_from_all_points() -> None:
    series = long_series(points=100_000)
    means: Any = curve_data(series, 100)["means"]
    smooth = np.array(means["values"])
    finite = series.finite().values
    assert smooth.mean() == pytest.approx(finite.mean(), rel=1e-3)


def test_values_beyond_floats_are_drawn_at_its_edge() -> None:
    steps = np.arange(4, dtype=np.int64)
    series = Series("loss", "loss", steps, np.array([1.7e308, -1.7e308, np.inf, 5e-324]))
    data = curve_data(series, 100)
    assert data["values"] == [1e300, -1e300, None, 5e-324]


# --- diffs, timeline


def test_a_diff_marks_what_changed_within_a_line() -> None:
    shown = str(highlighted("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-return score\n+return 1 - score\n"))
    assert '<span class="file">--- a/x</span>' in shown
    assert '<span class="hunk">@@ -1 +1 @@</span>' in shown
    assert '<span class="removed">-return score</span>' in shown
    assert '<span class="added">+return <mark>1 - </mark>score</span>' in shown


def test_a_removed_line_that_looks_like_a_file_is_no_file() -> None:
    assert 'class="removed"' in str(highlighted("---x\n"))


def test_the_timeline_is_in_the_order_of_the_steps_and_ends_with_the_end() -> None:
    told = timeline(patients.sick())
    kinds = [one.kind for one in told]
    assert kinds == [Kind.START, Kind.ONSET, Kind.BEST, Kind.SAVED, Kind.CHECKPOINT, Kind.END]
    assert [one.step for one in told][:-1] == sorted(one.step or 0 for one in told[:-1])


def test_a_restart_says_what_was_trained_again() -> None:
    sick = patients.sick()
    parts = (Segment(0, 400, patients.LOG), Segment(300, 600, patients.LOG))
    told = timeline(replace(sick, run=replace(sick.run, segments=parts)))
    (restart,) = [one for one in told if one.kind is Kind.RESTART]
    assert restart.title == "the run starts again; steps 300 to 400 are trained again"


def test_content_is_what_the_page_shows() -> None:
    sick = patients.sick()
    inside = content(sick)
    assert inside.markup in page(sick)
    assert inside.title == "sick: nano"
    assert data_of(page(sick)) == json.loads(json.dumps(inside.data))


# --- colours


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("at", "colours"), [(0, LIGHT), (1, DARK)], ids=["light", "dark"])
def test_words_can_be_read_on_everything_they_stand_on(at: int, colours: Colours) -> None:
    grounds = [colours.background, *(VARIABLES[name][at] for name in ("raised", "added", "removed"))]
    inks = [colours.ink, colours.faint_ink, *(VARIABLES[n][at] for n in ("link", "good", "bad", "warn"))]
    poor = [
        (ink, ground)
        for ink in inks
        for ground in grounds[: 4 if ink == colours.ink else 2]
        if contrast(ink, ground) < 4.5
    ]
    assert poor == []


def test_every_colour_that_is_used_is_given() -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", style()))
    assert used <= set(re.findall(r"--([a-z0-9-]+):", palette_rules()))
