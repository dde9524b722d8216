"""A page is sent what changed, and makes the same of it as if it had been sent everything."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stethoscope.dashboard.changes import Shown, blocks_of, difference, patch, patched
from stethoscope.report.html.page import content
from tests.report import patients

scalars = st.none() | st.integers(-5, 5) | st.floats(allow_nan=False, width=16) | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(values, values)
def test_a_patch_makes_the_one_from_the_other(before: Any, after: Any) -> None:
    sent = json.loads(json.dumps(patch(before, after)))
    assert patched(before, sent) == after


def test_of_a_curve_that_grew_only_the_end_is_sent() -> None:
    before = [{"id": "chart-1", "curves": [{"name": "loss", "values": list(range(10_000))}]}]
    after = [{"id": "chart-1", "curves": [{"name": "loss", "values": list(range(10_003))}]}]
    assert len(json.dumps(patch(before, after))) < 200


def test_the_blocks_of_a_report_are_its_parts_in_order() -> None:
    markup = content(patients.sick()).markup
    blocks = blocks_of(markup)
    assert list(blocks)[:3] == ["header", "charts", "causes"]
    assert list(blocks)[-1] == "footer"
    assert "<svg" in markup
    assert "<svg" not in blocks["charts"]
    assert 'class="static"' in blocks["charts"]
    assert all(block.startswith("<") and block.endswith(">") for block in blocks.values())
    others = "".join(block for name, block in blocks.items() if name != "charts")
    assert others.replace(" ", "") in "".join(part for part in _around(markup)).replace(" ", "")


def _around(markup: str) -> tuple[str, str]:
    """The markup without its curves."""
    start = markup.index('<section id="charts"')
    end = markup.index("<section", markup.rindex("</figure>"))
    return markup[:start], markup[end:]


def test_strangers_markup_does_not_part_a_block() -> None:
    blocks = blocks_of(content(patients.hostile()).markup)
    assert next(iter(blocks)) == "header"
    assert list(blocks)[-1] == "footer"


def test_what_did_not_change_is_not_sent() -> None:
    before = Shown("a", {"header": "<p>1</p>", "footer": "<p>2</p>"}, [{"id": "c"}], {"over": False})
    after = Shown("a", {"header": "<p>1</p>", "footer": "<p>3</p>"}, [{"id": "c"}], {"over": False})
    assert difference(before, before) == {}
    assert difference(before, after) == {"order": ["header", "footer"], "blocks": {"footer": "<p>3</p>"}}
