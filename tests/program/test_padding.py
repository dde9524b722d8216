"""What counts in a loss is followed back to where it was padded, marked or masked."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.index import index
from stethoscope.program.objective.padding import CHANNELS, ONE_SIDED, TOKENS, VOID, Padding, padding_in_loss
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, VOID = 0, 255


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


net = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9))
"""


def padding_of(folder: Path, collate: str, loss: str) -> Padding:
    text = f"""{HEAD}
def collate(rows):
    {collate}


for x, y in DataLoader(Rows(load()), batch_size=4, shuffle=True, collate_fn=collate):
    {loss}
    loss.backward()
"""
    return padding_in_loss(index(program_of(folder, train=text)), SettingsTree())


def kinds(padding: Padding) -> list[str]:
    return sorted(padded.kind for padded in padding.reaching)


PLAIN = "loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())"
PADDED = "t = pad_sequence(rows, batch_first=True); return t[:, :-1], t[:, 1:]"


@pytest.mark.parametrize(
    "collate",
    [
        PADDED,
        "t = torch.full((4, 9), PAD); return t, t",
        "t = torch.stack([F.pad(r, (0, 9 - len(r)), value=PAD) for r in rows]); return t, t",
        "t = torch.tensor([r + [PAD] * (9 - len(r)) for r in rows]); return t, t",
        "t = torch.zeros(4, 9, dtype=torch.long); t[0, :len(rows[0])] = rows[0]; return t, t",
        "t = tokenizer(rows, padding=True, return_tensors='pt'); return t['input_ids'], t['input_ids']",
    ],
)
def test_pads_reach_a_plain_loss(tmp_path: Path, collate: str) -> None:
    padding = padding_of(tmp_path, collate, PLAIN)
    assert padding.followed == 1
    assert kinds(padding) == [TOKENS]
    assert padding.reaching[0].loss.text.startswith("F.cross_entropy(")
    assert padding.reaching[0].sink.text == "loss.backward()"


@pytest.mark.parametrize(
    "loss",
    [
        PLAIN.replace("y.flatten()", "y.flatten(), ignore_index=PAD"),
        "k = y.ne(PAD); loss = F.cross_entropy(net(x)[k], y[k])",
        "l = F.cross_entropy(net(x).mT, y, reduction='none'); loss = (l * (y != PAD)).sum() / 9",
        "loss = nn.CTCLoss()(net(x), y, frames, letters)",
    ],
)
def test_pads_that_are_taken_out_do_not(tmp_path: Path, loss: str) -> None:
    assert kinds(padding_of(tmp_path, PADDED, loss)) == []


@pytest.mark.parametrize(
    "collate",
    [
        "t = pad_sequence(rows); u = t.clone(); u[t == PAD] = -100; return t, u",
        "t = pad_sequence(rows); return t, torch.where(t == PAD, -100, t)",
        "t = pad_sequence(rows); return t, t.masked_fill(t == PAD, -100)",
        "t = pad_sequence(rows); return t, pad_sequence(rows, padding_value=-100)",
        "t = pad_sequence(rows); return t, torch.tensor([r + [-100] * (9 - len(r)) for r in rows])",
        "return pad_sequence(rows), torch.tensor([label(r) for r in rows])",
    ],
)
def test_labels_that_the_loss_leaves_out_are_no_pads(tmp_path: Path, collate: str) -> None:
    padding = padding_of(tmp_path, collate, PLAIN)
    assert (padding.followed, kinds(padding)) == (1, [])


@pytest.mark.parametrize(
    ("collate", "found"),
    [
        ("t = torch.cat([rows[0], torch.zeros(2, 8, 8)]); return t, t", [CHANNELS]),
        ("t = F.pad(rows[0], (0, 0, 0, 0, 0, 2)); return t, t", [CHANNELS]),
        ("t = F.pad(rows[0], (1, 1, 1, 1, 0, 2)); return t, t", []),
        ("t = F.pad(rows[0], (0, 0, 0, 0, 0, 2)); return t, rows[0]", []),
        ("t = torch.cat([torch.zeros(1, 8, 8), torch.zeros(1, 8, 8)]); return t, t", []),
    ],
)
def test_empty_channels_count_in_the_target(tmp_path: Path, collate: str, found: list[str]) -> None:
    assert kinds(padding_of(tmp_path, collate, "loss = F.mse_loss(net(x), y)")) == found


def test_picked_channels_leave_the_empty_ones_out(tmp_path: Path) -> None:
    collate = "t = torch.cat([rows[0], torch.zeros(1, 8, 8)]); return t, t"
    assert kinds(padding_of(tmp_path, collate, "loss = F.mse_loss(net(x)[:, :3], y[:, :3])")) == []


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("y[y == VOID] = 0; loss = F.cross_entropy(net(x), y)", [VOID]),
        ("loss = F.cross_entropy(net(x), torch.where(y == 255, 0, y))", [VOID]),
        ("loss = F.cross_entropy(net(x), y.masked_fill(y < 0, 0))", []),
        ("loss = F.cross_entropy(net(x), y.masked_fill(y == -1, 0))", [VOID]),
        ("y[y == VOID] = 1; loss = F.cross_entropy(net(x), y)", []),
        ("y[y == VOID] = 0; loss = F.cross_entropy(net(x), y, ignore_index=0)", []),
        ("loss = (net(x) - y * (y > 0)).abs().mean()", [ONE_SIDED]),
        ("loss = F.mse_loss(net(x), y * (y > 0))", [ONE_SIDED]),
        ("loss = F.mse_loss(net(x) * (y > 0), y * (y > 0))", []),
        ("loss = ((net(x) - y * (y > 0)).abs() * (y > 0)).sum()", []),
    ],
)
def test_marks_and_masks_are_seen_beside_the_loss(tmp_path: Path, loss: str, found: list[str]) -> None:
    assert kinds(padding_of(tmp_path, "return rows[0], rows[1]", loss)) == found


@pytest.mark.parametrize(
    ("collate", "loss"),
    [
        ("return collate(rows), collate(rows)", PLAIN),
        ("return", PLAIN),
        ("yield rows", PLAIN),
        ("return {**rows}, [*rows]", "loss = net(**x).loss"),
        ("t = pad_sequence(); return t, t", "loss = F.cross_entropy()"),
        ("t = F.pad(rows, ()); return t, t", "loss = x[y] - y[x]"),
    ],
)
def test_hostile_programs_are_survived(tmp_path: Path, collate: str, loss: str) -> None:
    assert set(kinds(padding_of(tmp_path, collate, loss))) <= {TOKENS}
