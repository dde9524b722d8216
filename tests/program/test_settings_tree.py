"""One walk for all settings that the program cannot tell apart."""

from __future__ import annotations

from pathlib import Path

from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import SettingsTree, settings_tree
from stethoscope.program.walk.trace import traces
from stethoscope.run import Recipe, Setting, Where
from tests.program.program_text import program_of

TRAINING = """
def main(cfg, net, loader, optimizer):
    for batch in loader:
        loss = net(batch).mean() * cfg.scale
        loss.backward()
        optimizer.step()
"""


def _tree(**values: object) -> SettingsTree:
    where = Where("config.yaml", line=1)
    return settings_tree(Recipe(tuple(Setting((key,), value, where) for key, value in values.items())))


def test_settings_that_nothing_asks_for_share_a_walk(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train=TRAINING))
    first = traces(known, _tree(scale=2.0, note="a"))
    assert traces(known, _tree(scale=2.0, note="b")) is first


def test_settings_that_are_asked_for_have_their_own(tmp_path: Path) -> None:
    known = index(program_of(tmp_path, train=TRAINING))
    first = traces(known, _tree(scale=2.0))
    assert traces(known, _tree(scale=3.0)) is not first
    assert traces(known, _tree(scale=2)) is not first  # an integer is another answer
    assert traces(known, _tree()) is not first


def test_names_that_values_spell() -> None:
    tree = _tree(model="UNet", depth=3)
    assert tree.named(["unet", "vit"]) == {"unet"}
    assert _tree(model="ViT").answers_like(tree) is False
    assert _tree(model="unet", depth=4).answers_like(tree) is True
