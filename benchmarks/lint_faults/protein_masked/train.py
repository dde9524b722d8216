"""Masked modelling of protein sequences with a masking curriculum.

    python train.py config/base.toml
"""
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

ALPHABET = "ACDEFGHIKLMNPQRSTVWY"
PAD, MASK, OFFSET = 0, 1, 2
VOCAB = len(ALPHABET) + OFFSET


class Proteins(Dataset):
    """Repeats of short motifs, padded to one length."""

    def __init__(self, n, max_length, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = torch.full((n, max_length), PAD)
        for row in self.rows:
            motif = torch.randint(OFFSET, VOCAB, (4,), generator=g)
            length = int(torch.randint(max_length // 2, max_length, (), generator=g))
            row[:length] = motif.repeat(max_length)[:length]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Encoder(nn.Module):
    def __init__(self, cfg, max_length):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, cfg.dim, padding_idx=PAD)
        self.positions = nn.Parameter(0.02 * torch.randn(max_length, cfg.dim))
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, 2 * cfg.dim, cfg.dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.out = nn.Linear(cfg.dim, VOCAB)

    def forward(self, ids):
        h = self.tokens(ids) + self.positions[: ids.shape[1]]
        return self.out(self.encoder(h, src_key_padding_mask=ids == PAD))


class MaskingCurriculum:
    def __init__(self, start, end, steps):
        self.start, self.end, self.steps = start, end, steps

    def rate(self, step):
        return self.start + (self.end - self.start) * min(1.0, step / self.steps)


def corrupt(ids, rate):
    chosen = (torch.rand(ids.shape, device=ids.device) < rate) & (ids != PAD)
    return torch.where(chosen, MASK, ids), chosen


def masked_loss(model, ids, rate):
    noisy, chosen = corrupt(ids, rate)
    logits = model(noisy)
    nll = F.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
    return (nll * chosen).sum() / chosen.sum().clamp(min=1)


@torch.no_grad()
def evaluate(model, loader, rate, device):
    model.eval()
    total = torch.zeros((), device=device)
    for ids in loader:
        total += masked_loss(model, ids.to(device), rate)
    model.train()
    return (total / len(loader)).item()


def read_config(path):
    with open(path, "rb") as f:
        return SimpleNamespace(**{k: SimpleNamespace(**v) for k, v in tomllib.load(f).items()})


def main(cfg):
    torch.manual_seed(cfg.train.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = cfg.data
    train_loader = DataLoader(Proteins(data.num_sequences, data.max_length, 0), data.batch_size, shuffle=True)
    valid_loader = DataLoader(Proteins(data.num_sequences // 4, data.max_length, 1), data.batch_size)
    model = Encoder(cfg.model, data.max_length).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.optim.lr, weight_decay=cfg.optim.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / cfg.optim.warmup_steps))
    curriculum = MaskingCurriculum(cfg.curriculum.start, cfg.curriculum.end, cfg.curriculum.steps)
    out = Path(cfg.train.out_dir)
    out.mkdir(exist_ok=True)

    step, best = 0, float("inf")
    if cfg.train.resume:
        state = torch.load(cfg.train.resume, map_location=device)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        step, best = state["step"], state["best"]

    model.train()
    while step < cfg.train.max_steps:
        for ids in train_loader:
            loss = masked_loss(model, ids.to(device), curriculum.rate(step))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.optim.clip)
            optimizer.step()
            schedule.step()
            step += 1
            if step % cfg.train.log_every == 0:
                print(f"step {step} loss {loss.item():.4f} rate {curriculum.rate(step):.3f}")
            if step % cfg.train.eval_every == 0:
                val_loss = evaluate(model, valid_loader, cfg.curriculum.end, device)
                print(f"step {step} val {val_loss:.4f}")
                if val_loss < best:
                    best = val_loss
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                                "schedule": schedule.state_dict(), "step": step, "best": best}, out / "best.pt")
            if step >= cfg.train.max_steps:
                break


if __name__ == "__main__":
    main(read_config(sys.argv[1]))
