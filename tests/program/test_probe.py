"""A comparison is known by what it computes, not by what it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.objective.probe import Probe, probe
from stethoscope.program.settings.settings_tree import SettingsTree
from stethoscope.program.walk.calls import call_value
from stethoscope.program.walk.execution import Execution
from stethoscope.program.walk.values import FunctionValue, Leaf, Site
from tests.program.program_text import program_of

IMPORTS = "import torch\nimport torch.nn.functional as F\nimport numpy as np\n"

LIKENESSES = {
    "luminance": "m, n = F.avg_pool2d(x, 5, 1), F.avg_pool2d(y, 5, 1)\n"
    "    return ((2 * m * n + 1e-4) / (m ** 2 + n ** 2 + 1e-4)).mean()",
    "cosine": "return F.cosine_similarity(x.flatten(1), y.flatten(1)).mean()",
    "dot of directions": "return (F.normalize(x.flatten(1)) * F.normalize(y.flatten(1))).sum(1).mean()",
    "pearson": "x, y = x - x.mean(), y - y.mean()\n    return (x * y).sum() / (x.norm() * y.norm() + 1e-8)",
    "psnr": "return -10 * torch.log10(((x - y) ** 2).mean() + 1e-10)",
    "psnr by rmse": "return 20 * torch.log10(1.0 / torch.sqrt(F.mse_loss(x, y) + 1e-10))",
    "dice": "return (2 * (x * y).sum() + 1) / (x.sum() + y.sum() + 1)",
    "dice of logits": "p = torch.sigmoid(x)\n    return 2 * (p * y).sum() / (p.sum() + y.sum())",
    "jaccard": "i = (x * y).sum()\n    return i / (x.sum() + y.sum() - i + 1e-6)",
    "gaussian kernel": "return torch.exp(-((x - y) ** 2).mean())",
    "inverse distance": "return 1 / (1 + (x - y).abs().mean())",
    "accuracy": "return (x.argmax(1) == y).float().mean()",
}
DISTANCES = {
    "l1": "return (x - y).abs().mean()",
    "charbonnier": "return torch.sqrt((x - y) ** 2 + 1e-6).mean()",
    "one minus cosine": "return 1 - F.cosine_similarity(x.flatten(1), y.flatten(1)).mean()",
    "cross entropy": "return F.cross_entropy(x, y.long())",
    "soft dice loss": "return 1 - (2 * (x * y).sum() + 1) / (x.sum() + y.sum() + 1)",
    "contrast": "z = F.normalize(x, dim=1) @ F.normalize(y, dim=1).t()\n"
    "    return F.cross_entropy(z / 0.1, torch.arange(x.shape[0]))",
    "frequency": "return (torch.fft.rfft2(x) - torch.fft.rfft2(y)).abs().mean()",
}
NEITHER = {
    "dot product": "return (x * y).mean()",
    "sum": "return (x + y).mean()",
    "only one matters": "return x.pow(2).mean() + 0 * y.mean()",
}


def tried(folder: Path, body: str) -> Probe | None:
    names = index(program_of(folder, code=f"{IMPORTS}def f(x, y):\n    {body}\n"))
    run = Execution(names, SettingsTree())
    function = names.functions[0]
    x, y = Leaf("x"), Leaf("y")
    site = Site(function.source, function.node)
    return probe(names, call_value(run, FunctionValue(function), (x, y), {}, site), (x, y))


@pytest.mark.parametrize("body", LIKENESSES.values(), ids=LIKENESSES)
def test_a_likeness_is_largest_on_equal_inputs(tmp_path: Path, body: str) -> None:
    found = tried(tmp_path, body)
    assert found is not None
    assert found.orientation == 1
    assert found.alike > found.unlike


@pytest.mark.parametrize("body", DISTANCES.values(), ids=DISTANCES)
def test_a_distance_is_smallest_on_equal_inputs(tmp_path: Path, body: str) -> None:
    found = tried(tmp_path, body)
    assert found is not None
    assert found.orientation == -1


@pytest.mark.parametrize("body", NEITHER.values(), ids=NEITHER)
def test_what_compares_nothing_is_neither(tmp_path: Path, body: str) -> None:
    found = tried(tmp_path, body)
    assert found is None or found.orientation == 0


@pytest.mark.parametrize(
    "body",
    [
        "return torch.load('weights.pt')(x, y)",
        "import os\n    os.remove('x')\n    return x - y",
        "return __import__('os').system('true') + (x - y)",
        "return eval('1')",
        "while True:\n        x = x + y\n    return x",
        "return f(x, y)",
        "return x ** (10 ** 10 ** 10)",
    ],
)
def test_what_cannot_be_computed_is_not_guessed(tmp_path: Path, body: str) -> None:
    found = tried(tmp_path, body)
    assert found is None or found.orientation <= 0


def test_only_angles_are_blind_to_scale(tmp_path: Path) -> None:
    cosine = tried(tmp_path / "a", LIKENESSES["cosine"])
    structure = tried(tmp_path / "b", LIKENESSES["luminance"])
    assert cosine is not None
    assert structure is not None
    assert cosine.angular
    assert not structure.angular
