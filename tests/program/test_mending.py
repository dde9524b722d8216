"""A diff that mends validation takes out every step that shrinks, or is not offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.read import read
from stethoscope.signals import Missing, measure
from stethoscope.signals.validation_path import Yardstick

SHARED = """\
import torch
import torch.nn.functional as F


def psnr(a, b):
    return -10 * torch.log10(((a - b) ** 2).mean())


class Model:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def step(self, lq, gt):
        loss = F.l1_loss(self.net(lq), gt)
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def validate(self, loader):
        scores = []
        for self.lq, self.gt in loader:
            self.test()
            scores.append(psnr(self.output, self.gt))
        return sum(scores) / len(scores)

    def test(self):
"""

NESTED = """\
        _, _, h, w = self.lq.size()
        if max(h, w) > 64:
            factor = 64 / max(h, w)
            self.lq = F.interpolate(self.lq, scale_factor=factor, mode="bicubic")
            if self.gt is not None:
                self.gt = F.interpolate(self.gt, scale_factor=factor, mode="bicubic")
        self.output = self.net(self.lq)
"""

APART = """\
        x = self.lq
        if max(x.shape[-2:]) > 64:
            x = F.interpolate(x, size=64)
        self.output = self.net(x)
        self.gt = F.interpolate(self.gt, size=self.output.shape[-2:])
"""

IN_PLACE = """\
import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image


def tensor(image):
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).float() / 255


def train(net, optimizer, batches):
    for lq, gt in batches:
        loss = F.l1_loss(net(lq), gt)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(net, files):
    total = 0.0
    for file in files:
        image = Image.open(file).convert("RGB")
        image.thumbnail((64, 64))
        small = image.resize((image.width // 2, image.height // 2), Image.BICUBIC)
        mse = (net(tensor(small)[None]) - tensor(image)[None]).pow(2).mean()
        total += (-10 * mse.log10()).item()
    return total / len(files)
"""

ENTANGLED = """\
        if max(self.lq.shape[-2:]) > 64:
            print("shrinking")
            self.lq = F.interpolate(self.lq, size=64)
        self.output = self.net(self.lq)
        self.gt = F.interpolate(self.gt, size=self.output.shape[-2:])
"""


def mended(text: str, folder: Path) -> str | None:
    """The source with the fixes of its one finding applied, or None where none is offered."""
    (folder / "train.py").write_text(text)
    yardstick = measure(read(folder)).get(Yardstick)
    assert not isinstance(yardstick, Missing)
    fixes = yardstick.path.shrinkings[0].fixes
    for fix in sorted(fixes, key=lambda fix: -fix.start):
        text = text[: fix.start] + fix.text + text[fix.end :]
    return text if fixes else None


@pytest.mark.parametrize("body", [NESTED, APART], ids=["nested", "apart"])
def test_input_and_target_are_mended_together(body: str, tmp_path: Path) -> None:
    text = mended(SHARED + body, tmp_path)
    assert text is not None
    compile(text, "train.py", "exec")
    assert "interpolate" not in text
    assert "self.output = self.net(" in text


def test_no_diff_is_offered_where_one_of_them_would_stay_shrunk(tmp_path: Path) -> None:
    assert mended(SHARED + ENTANGLED, tmp_path) is None


def test_a_call_that_works_in_place_is_taken_out(tmp_path: Path) -> None:
    text = mended(IN_PLACE, tmp_path)
    assert text == IN_PLACE.replace("        image.thumbnail((64, 64))\n", "")
