"""Networks of many kinds are given inputs that they can be computed with."""

from __future__ import annotations

from pathlib import Path

import pytest

from stethoscope.program.experiments.trials import Trial, trials
from stethoscope.program.index import index
from stethoscope.program.settings.settings_tree import SettingsTree
from tests.program.program_text import program_of

IMPORTS = "import math\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
LOOP = """
optimizer = torch.optim.Adam(net.parameters())
for batch in torch.load("batches.pt"):
    optimizer.zero_grad()
    loss = net(*batch).square().mean()
    loss.backward()
    optimizer.step()
"""

WIDE = """
class Net(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.table = nn.Embedding(50304, width)
        self.places = nn.Parameter(torch.zeros(1024, width))
        self.heads = heads
        self.rounds = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(12))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(12))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(12))
        self.out = nn.Linear(width, 50304)

    def forward(self, ids):
        x = self.table(ids) + self.places[: ids.shape[1]]
        for qkv, up, down in zip(self.rounds, self.up, self.down):
            b, t, c = x.shape
            q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in qkv(x).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + y.transpose(1, 2).reshape(b, t, c)
            x = x + down(F.gelu(up(x)))
        return self.out(x)

net = Net(768, 12)
"""

DERIVED = """
class Masked(nn.Conv2d):
    def __init__(self, ins, outs, size):
        super().__init__(ins, outs, size, padding=size // 2)
        self.register_buffer("mask", torch.ones_like(self.weight))
        self.mask[:, :, size // 2, size // 2 :] = 0

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(512, 16)
        self.first = Masked(16, 16, 3)
        self.out = nn.Conv2d(16, 512, 1)

    def forward(self, codes):
        return self.out(torch.relu(self.first(self.table(codes).permute(0, 3, 1, 2))))

net = Net()
"""

KINDS = {
    "twelve layers of 768": (WIDE, "tokens"),
    "a convolution of its own, over codes": (DERIVED, "codes"),
    "columns that are looked up, beside numbers": (
        """
class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 4) for size in sizes)
        self.stem = nn.Linear(4 * len(sizes) + 6, 8)

    def forward(self, numbers, codes):
        found = [table(codes[:, place]) for place, table in enumerate(self.tables)]
        return self.stem(torch.cat([numbers, *found], 1))

net = Net([10, 20, 30])
""",
        "vector",
    ),
    "both sides of a transformer, one by one": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 16)
        self.core = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)

    def forward(self, source, target):
        memory = self.core.encoder(self.table(source))
        return self.core.decoder(self.table(target), memory)

net = Net()
""",
        "tokens",
    ),
    "samples of a sound, folded into a picture": (
        """
class Net(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        self.convs = nn.Sequential(nn.Conv2d(1, 8, (5, 1), (3, 1)), nn.LeakyReLU(), nn.Conv2d(8, 1, (3, 1)))

    def forward(self, wave):
        b, c, t = wave.shape
        wave = F.pad(wave, (0, self.period - t % self.period), "reflect")
        return self.convs(wave.view(b, c, -1, self.period))

net = Net(3)
""",
        "signal",
    ),
    "steps of time with the channels last": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(13, 8, 3, padding=1)
        self.out = nn.Linear(8, 4)

    def forward(self, steps):
        return self.out(torch.relu(self.front(steps.transpose(1, 2))).transpose(1, 2))

net = Net()
""",
        "sequence",
    ),
    "a table of places of one length": (
        """
class Net(nn.Module):
    def __init__(self, patches, width):
        super().__init__()
        self.into = nn.Linear(12, width)
        self.places = nn.Parameter(torch.zeros(1, patches, width))
        self.blank = nn.Parameter(torch.zeros(width))

    def forward(self, x, hidden):
        return torch.where(hidden[..., None], self.blank, self.into(x)) + self.places

net = Net(25, 8)
""",
        "sequence",
    ),
    "settings that no walk can follow": (
        """
import settings_of_the_lab

class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.rnn = nn.GRU(5, cfg.hidden, num_layers=cfg.num_layers, batch_first=True, dropout=cfg.dropout)
        self.out = nn.Linear(cfg.hidden, cfg.data.horizon)

    def forward(self, x):
        return self.out(self.rnn(x)[0])

net = Net(settings_of_the_lab.load())
""",
        "sequence",
    ),
    "noise that becomes a picture": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.ConvTranspose2d(20, 16, 4), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1))

    def forward(self, z):
        return self.net(z.view(-1, 20, 1, 1))

net = Net()
""",
        "vector",
    ),
    "a meter that is kept beside the layers": (
        """
from torchmetrics.classification import MultilabelAUROC

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 4)
        self.measured = MultilabelAUROC(4)

    def forward(self, x):
        return self.out(x)

net = Net()
""",
        "vector",
    ),
}


@pytest.mark.parametrize(("network", "kind"), KINDS.values(), ids=KINDS)
def test_a_network_is_given_what_it_takes(tmp_path: Path, network: str, kind: str) -> None:
    (trial,) = _tried(tmp_path, network)
    assert trial.fitting.kinds[0] == kind


def test_a_layer_without_influence_is_seen_in_a_network_that_was_made_smaller(tmp_path: Path) -> None:
    broken = WIDE.replace("x = x + down(F.gelu(up(x)))", "down(F.gelu(up(x)))")
    (trial,) = _tried(tmp_path, broken)
    assert trial.idle_layers


def test_a_recurrent_layer_that_is_given_packed_rows_has_influence(tmp_path: Path) -> None:
    packed = """
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(30, 8)
        self.rnn = nn.LSTM(8, 8, batch_first=True)
        self.out = nn.Linear(8, 4)

    def forward(self, x, lengths):
        rows = pack_padded_sequence(self.table(x), lengths, batch_first=True, enforce_sorted=False)
        return self.out(pad_packed_sequence(self.rnn(rows)[0], batch_first=True)[0])

net = Net()
"""
    (trial,) = _tried(tmp_path, packed)
    assert not trial.idle_layers


def test_a_layer_that_chooses_among_places_has_influence(tmp_path: Path) -> None:
    pooling = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)

    def forward(self, x):
        s = self.score(x)
        w = torch.exp(s - s.amax(dim=1, keepdim=True))
        return (w * x).sum(1) / w.sum(1)

net = Net()
"""
    (trial,) = _tried(tmp_path, pooling)
    assert not trial.idle_layers


def _tried(folder: Path, network: str) -> tuple[Trial, ...]:
    program = program_of(folder, train=IMPORTS + network + LOOP)
    return trials(index(program), SettingsTree())
