import sys
from pathlib import Path

import numpy as np
import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_config(argv) -> DictConfig:
    base = OmegaConf.load(Path(__file__).parent / "conf" / "config.yaml")
    return OmegaConf.merge(base, OmegaConf.from_cli(argv))


def make_tables(cfg):
    rng = np.random.default_rng(cfg.seed)
    x = rng.gamma(2.0, 3.0, size=(cfg.data.rows, cfg.data.features)).astype(np.float32)
    y = (np.log1p(x[:, 0]) * x[:, 1] > 10).astype(np.int64) + (x[:, 2] > 8).astype(np.int64)
    cut = int(len(x) * (1 - cfg.data.val_fraction))
    return x[:cut], y[:cut], x[cut:], y[cut:]


class Standardizer:
    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0) + 1e-6
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std


class MLP(nn.Module):
    def __init__(self, features, hidden, classes, dropout):
        super().__init__()
        self.embed = nn.Linear(features, hidden[0])
        layers = []
        for a, b in zip(hidden[:-1], hidden[1:]):
            layers += [nn.ReLU(), nn.Dropout(dropout), nn.Linear(a, b)]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(hidden[-1], classes)

    def forward(self, x):
        z = self.embed(x)
        return self.head(torch.relu(self.body(z))), z


class Experiment:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        auto = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(auto if cfg.device == "auto" else cfg.device)
        x, y, vx, vy = make_tables(cfg)
        scale = Standardizer().fit(x)
        self.train_data = TensorDataset(torch.from_numpy(scale(x)), torch.from_numpy(y))
        self.val_data = TensorDataset(torch.from_numpy(scale(vx)), torch.from_numpy(vy))
        self.model = MLP(cfg.data.features, list(cfg.model.hidden), 3, cfg.model.dropout).to(self.device)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.optim.lr, weight_decay=cfg.optim.weight_decay)
        self.ce = nn.CrossEntropyLoss(label_smoothing=cfg.optim.label_smoothing)

    def objective(self, batch):
        x, y = (t.to(self.device) for t in batch)
        logits, z = self.model(x)
        return self.ce(logits, y) + self.cfg.loss.l2_embedding * z.pow(2).mean()

    def train_epoch(self, epoch):
        self.model.train()
        loader = DataLoader(self.train_data, batch_size=self.cfg.data.batch_size, shuffle=True, drop_last=True)
        accumulate = self.cfg.optim.accumulate
        for i, batch in enumerate(loader):
            loss = self.objective(batch)
            (loss / accumulate).backward()
            if (i + 1) % accumulate == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.optim.clip_norm)
                self.opt.step()
                self.opt.zero_grad()
            if i % self.cfg.trainer.log_every == 0:
                print(f"[{epoch}:{i}] {loss.item():.4f}")

    @torch.no_grad()
    def accuracy(self):
        self.model.eval()
        hits = 0
        for x, y in DataLoader(self.val_data, batch_size=128):
            hits += (self.model(x.to(self.device))[0].argmax(1).cpu() == y).sum()
        return float(hits) / len(self.val_data)

    def run(self):
        out = Path(self.cfg.trainer.out_dir)
        out.mkdir(exist_ok=True, parents=True)
        OmegaConf.save(self.cfg, out / "config.yaml")
        best = 0.0
        for epoch in range(self.cfg.trainer.epochs):
            self.train_epoch(epoch)
            acc = self.accuracy()
            print(f"epoch {epoch}: accuracy {acc:.3f}")
            if acc > best:
                best = acc
                torch.save(self.model.state_dict(), out / "best.pt")


if __name__ == "__main__":
    Experiment(load_config(sys.argv[1:])).run()
