import argparse
import json
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from dataset import TaggedClips
from model import Tagger


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", default="config.json")
    ap.add_argument("--epochs", type=int)
    ap.add_argument("--learning_rate", type=float)
    ap.add_argument("--resume", type=Path)
    ap.add_argument("--no_amp", action="store_true")
    args = ap.parse_args()
    cfg = json.loads(Path(args.config).read_text())
    for key in ("epochs", "learning_rate"):
        if getattr(args, key) is not None:
            cfg[key] = getattr(args, key)
    return args, cfg


class Experiment:
    def __init__(self, args, cfg):
        self.cfg = cfg
        torch.manual_seed(0)
        self.device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        self.use_amp = self.device.type == "cuda" and not args.no_amp
        self.build_data()
        self.build_model()
        self.epoch, self.best = 0, 0.0
        self.workdir = Path(cfg["workdir"])
        self.workdir.mkdir(exist_ok=True)
        if args.resume:
            self.load_checkpoint(args.resume)

    def build_data(self):
        train = TaggedClips(64, self.cfg, seed=0, training=True)
        valid = TaggedClips(20, self.cfg, seed=99_000, training=False)
        common = {"num_workers": self.cfg["workers"], "pin_memory": self.device.type == "cuda"}
        self.train_loader = DataLoader(
            train, batch_size=self.cfg["batch_size"], shuffle=True, drop_last=True, **common
        )
        # whole clips of different length, one at a time
        self.valid_loader = DataLoader(valid, batch_size=1, **common)

    def build_model(self):
        self.model = Tagger(self.cfg).to(self.device)
        weight = torch.full((self.cfg["n_tags"],), self.cfg["pos_weight"], device=self.device)
        self.criterion = torch.nn.BCEWithLogitsLoss(pos_weight=weight)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.cfg["learning_rate"])
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer,
            max_lr=self.cfg["learning_rate"],
            total_steps=self.cfg["epochs"] * len(self.train_loader),
            pct_start=self.cfg["pct_start"],
        )
        self.scaler = torch.cuda.amp.GradScaler(enabled=self.use_amp)

    def forward(self, wave):
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.use_amp):
            return self.model(wave)

    def train_epoch(self):
        self.model.train()
        total = torch.zeros((), device=self.device)
        for it, (wave, tags) in enumerate(self.train_loader, 1):
            wave, tags = wave.to(self.device, non_blocking=True), tags.to(self.device, non_blocking=True)
            logits = self.forward(wave)
            loss = self.criterion(logits.float(), tags)
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip_norm"])
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
            total += loss.detach()
            if it % self.cfg["print_every"] == 0:
                print(f"{self.epoch}/{it}: {total.item() / it:.4f}")

    @torch.inference_mode()
    def validate(self):
        """Mean F1 over the tags at a threshold of one half."""
        self.model.eval()
        tp = fp = fn = torch.zeros(self.cfg["n_tags"], device=self.device)
        for wave, tags in self.valid_loader:
            wave, tags = wave.to(self.device), tags.to(self.device).bool()
            guess = self.forward(wave).float().sigmoid() > 0.5
            tp = tp + (guess & tags).sum(0)
            fp = fp + (guess & ~tags).sum(0)
            fn = fn + (~guess & tags).sum(0)
        return (2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean().item()

    def save_checkpoint(self, name):
        torch.save({
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
        }, self.workdir / name)

    def load_checkpoint(self, path):
        state = torch.load(path, map_location=self.device)
        for part in ("model", "optimizer", "scheduler", "scaler"):
            getattr(self, part).load_state_dict(state[part])
        self.epoch, self.best = state["epoch"], state["best"]

    def run(self):
        for _ in range(self.epoch, self.cfg["epochs"]):
            self.train_epoch()
            f1 = self.validate()
            self.epoch += 1
            print(f"epoch {self.epoch}: F1 {f1:.3f}")
            improved = f1 > self.best
            self.best = max(f1, self.best)
            self.save_checkpoint("last.pt")
            if improved:
                self.save_checkpoint("best.pt")


if __name__ == "__main__":
    Experiment(*parse()).run()
