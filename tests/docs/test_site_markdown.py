"""What GitHub reads one way and Python-Markdown another is written so that both read it alike."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from site_markdown import for_python_markdown, linked, outside_fences, promoted


def test_a_list_may_follow_a_paragraph_at_once() -> None:
    assert for_python_markdown("Three:\n- one\n- two\n") == "Three:\n\n- one\n- two\n"


def test_a_number_in_a_paragraph_begins_no_list() -> None:
    assert for_python_markdown("It was in\n2024. Then\n") == "It was in\n2024. Then\n"


def test_what_belongs_to_an_item_is_four_spaces_deep() -> None:
    text = "- one:\n\n  ```python\n  if a:\n      b\n  ```\n\n  more\n\n  - below\n\nafter\n"
    deep = "- one:\n\n    ```python\n    if a:\n        b\n    ```\n\n    more\n\n    - below\n\nafter\n"
    assert for_python_markdown(text) == deep


def test_code_stays_as_it_is() -> None:
    text = "```text\nwords\n- no list\n\tx\n```\n\n    indented\n"
    assert for_python_markdown(text) == text


def test_a_block_is_titled_with_its_file() -> None:
    assert for_python_markdown("```csv train.csv\na\n```\n").startswith('```csv title="train.csv"\n')
    assert for_python_markdown("```python > a.csv\na\n```\n").startswith('```python title="writes a.csv"\n')


def test_what_stands_inside_a_block_is_no_fence() -> None:
    text = "````text\n```csv a.csv\n```\n````\n"
    assert for_python_markdown(text) == text


def test_headings_are_lifted_outside_code_only() -> None:
    assert promoted("### A\n```python\n### no\n```\n#### B", by=2) == "# A\n```python\n### no\n```\n## B"


def test_links_in_code_are_none() -> None:
    assert linked("[a](b.md)\n```text\n[c](d.md)\n```\n![e](f.svg)") == ["b.md", "f.svg"]


def test_only_prose_is_changed() -> None:
    assert outside_fences("a\n```\na\n```\na", str.upper) == "A\n```\na\n```\nA"
