"""Edits keep everything they do not change."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from stethoscope.prescription.edits.diff import diff, spliced
from stethoscope.prescription.edits.yaml_edit import removed, replaced
from stethoscope.recipe import read_settings
from stethoscope.run import ConfigFile, Splice

CONFIG = """\
train:
  lr: !!float 2e-4   # keep me
  min_weight: 1e-6   # and me
  grad_clip_max_norm: 1.0
  grad_clip: true
"""


def setting(dotted: str):
    return next(s for s in read_settings(CONFIG, "c.yml", "yaml") if s.dotted == dotted)


def test_a_replaced_value_keeps_tag_comment_and_layout() -> None:
    splice = replaced(setting("train.min_weight"), "1.0e-6")
    assert splice is not None
    after = spliced(CONFIG, [splice])
    assert after == CONFIG.replace("1e-6 ", "1.0e-6 ")
    assert yaml.safe_load(after)["train"]["min_weight"] == 1e-6


def test_a_removed_setting_takes_its_line_and_nothing_else() -> None:
    splice = removed(setting("train.grad_clip_max_norm"), ConfigFile("c.yml", CONFIG, "run"))
    assert splice is not None
    assert spliced(CONFIG, [splice]) == CONFIG.replace("  grad_clip_max_norm: 1.0\n", "")


def test_a_diff_shows_only_the_lines_that_change() -> None:
    shown = diff("c.yml", "a\nb\nc\n", "a\nB\nc\n")
    assert [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-b",
        "+B",
    ]


def test_a_missing_newline_at_the_end_is_said() -> None:
    assert "\\ No newline at end of file" in diff("c.yml", "a\nb", "a\nc")


def test_nothing_changed_is_an_empty_diff() -> None:
    assert diff("c.yml", "a\n", "a\n") == ""


@given(st.text(), st.integers(0, 50), st.integers(0, 50), st.text(max_size=5))
def test_text_outside_a_splice_is_untouched(text: str, a: int, b: int, new: str) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    assert spliced(text, [Splice("f", start, end, new)]) == text[:start] + new + text[end:]
