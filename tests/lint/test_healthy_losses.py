"""Losses written by hand, as many kinds as people write: no rule about source says anything of them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from stethoscope.findings import Severity, Subject, apply, catalogue
from stethoscope.read import read
from stethoscope.signals import Missing, measure

LOSSES = Path(__file__).with_name("healthy_losses.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^## (?P<title>.+?)\n+```python(?P<file>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
IMPORTS = "import math\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
CALLED = """

def train(model, loader, optimizer, device):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
MODULE = "class Criterion(nn.Module):\n{}\n\n\ncriterion = Criterion()\n"
STEP = """

def fit(net, batches, optimizer, scaler):
    for batch in batches:
        with torch.autocast("cuda"):
            predicted = net(batch["image"])
        total = criterion(predicted.float(), batch["label"])
        scaler.scale(total).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
"""


def programs() -> Iterator[tuple[str, str]]:
    """Each loss in each loop."""
    for found in SECTION.finditer(LOSSES):
        title, body = found["title"], found["body"]
        if found["file"]:
            yield title, body
            continue
        method = textwrap.indent(body.replace("def criterion(", "def forward(self, ", 1), "    ").rstrip()
        yield f"{title}, called", IMPORTS + body + CALLED
        yield f"{title}, as a module", IMPORTS + MODULE.format(method) + CALLED
        yield f"{title}, in half precision", IMPORTS + body + STEP


@pytest.mark.parametrize("text", [pytest.param(text, id=title) for title, text in programs()])
def test_nothing_is_said_of_a_healthy_loss(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    signals = measure(read(tmp_path))
    rules = [rule for rule in catalogue() if rule.subject is Subject.SOURCE]
    outcomes = {rule.name: apply(rule, signals) for rule in rules if rule.severity is not Severity.NOTE}
    said = {name: found for name, found in outcomes.items() if not isinstance(found, Missing) and found}
    assert not said
