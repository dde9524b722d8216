"""Rules as people name them."""

from __future__ import annotations

import pytest

from stethoscope.errors import UnknownRule
from stethoscope.lint.selection import chosen, lintable, must_be_known


def codes(select: list[str] | None = None, ignore: list[str] | None = None) -> set[str]:
    return {rule.code for rule in chosen(lintable(), select or [], ignore or [])}


def test_without_a_selection_every_rule_looks() -> None:
    assert codes() == {rule.code for rule in lintable()}
    assert not any(code.startswith(("AMP", "LOS")) for code in codes())


@pytest.mark.parametrize("selector", ["SET102", "set102", "number-is-a-string", "number_is_a_string"])
def test_a_rule_has_a_code_and_a_name(selector: str) -> None:
    assert codes([selector]) == {"SET102"}


@pytest.mark.parametrize("selector", ["SET", "SET1", "settings"])
def test_a_prefix_or_a_family_names_several(selector: str) -> None:
    assert codes([selector]) >= {"SET101", "SET102", "SET103"}
    assert all(code.startswith("SET") for code in codes([selector]))


def test_the_longer_selector_decides() -> None:
    assert "SET102" not in codes(["SET"], ["SET102"])
    assert codes(["SET102"], ["SET"]) == {"SET102"}
    assert codes(["SET"], ["SET"]) == set()
    assert codes(["ALL"], ["SET"]).isdisjoint({"SET101", "SET102"})


def test_what_names_nothing_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownRule, match=r"--select: .* SET999"):
        must_be_known(["SET999"], "--select")
    with pytest.raises(UnknownRule, match="Did you mean settings"):
        must_be_known(["setting"], "--select")
    with pytest.raises(UnknownRule):
        must_be_known(["S"], "--select")
    must_be_known(["AMP101"], "--ignore")
