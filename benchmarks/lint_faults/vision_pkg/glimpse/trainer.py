import logging
import os

import torch
from torch import nn

from .data import build_loaders
from .nets import TinyNet
from .optimization import Stepper, build_optimizer, build_scheduler

log = logging.getLogger(__name__)


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg.seed)
        self.cfg = cfg
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = TinyNet(cfg.num_classes).to(self.device)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.optimizer = build_optimizer(self.model, cfg.optim)
        self.scheduler = build_scheduler(self.optimizer, cfg.epochs)
        self.stepper = Stepper(self.optimizer, self.model.parameters(), cfg.optim.max_grad_norm)
        self.train_loader, self.val_loader = build_loaders(cfg)
        self.epoch = 0
        self.best = 0.0
        os.makedirs(cfg.run_dir, exist_ok=True)
        if cfg.resume:
            self.load(cfg.resume)

    def fit(self):
        while self.epoch < self.cfg.epochs:
            train_loss = self.run_epoch()
            accuracy = self.evaluate()
            self.scheduler.step()
            self.epoch += 1
            log.info("epoch %d: loss %.4f acc %.3f", self.epoch, train_loss, accuracy)
            if accuracy > self.best:
                self.best = accuracy
                self.save("best.pt")
            self.save("last.pt")

    def run_epoch(self):
        self.model.train()
        total = torch.zeros((), device=self.device)
        for i, batch in enumerate(self.train_loader):
            loss = self.compute_loss(batch)
            grad_norm = self.stepper(loss)
            total += loss.detach()
            if i % self.cfg.print_every == 0:
                log.info("  %d/%d loss %.4f |g| %.2f", i, len(self.train_loader), loss.item(), grad_norm.item())
        return (total / len(self.train_loader)).item()

    def compute_loss(self, batch):
        images, labels = (t.to(self.device, non_blocking=True) for t in batch)
        return self.criterion(self.model(images), labels)

    @torch.inference_mode()
    def evaluate(self):
        self.model.eval()
        hits = torch.zeros((), device=self.device)
        for images, labels in self.val_loader:
            logits = self.model(images.to(self.device))
            hits += (logits.argmax(1) == labels.to(self.device)).sum()
        return hits.item() / len(self.val_loader.dataset)

    def state_dict(self):
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": self.epoch,
            "best": self.best,
        }

    def save(self, name):
        torch.save(self.state_dict(), os.path.join(self.cfg.run_dir, name))

    def load(self, path):
        state = torch.load(path, map_location=self.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch = state["epoch"]
        self.best = state["best"]
