import math
import os

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


class Progress:
    def __init__(self):
        self.epoch, self.stale, self.best = 0, 0, math.inf

    def state_dict(self):
        return dict(vars(self))

    def load_state_dict(self, state):
        vars(self).update(state)


class Experiment:
    """Subclasses give the model, the loaders and the loss."""

    def __init__(self, cfg):
        self.cfg = cfg
        precision = cfg.precision if torch.cuda.is_available() else "no"
        self.accelerator = Accelerator(mixed_precision=precision, gradient_accumulation_steps=cfg.accumulate)
        set_seed(cfg.seed)
        self.progress = Progress()

    def build_model(self):
        raise NotImplementedError

    def build_loaders(self):
        raise NotImplementedError

    def loss(self, model, batch):
        raise NotImplementedError

    def build_optimizer(self, model):
        return torch.optim.AdamW(model.parameters(), lr=self.cfg.lr, betas=(0.9, 0.98))

    def build_schedule(self, optimizer, updates):
        rise = max(1, int(self.cfg.warmup * updates))

        def factor(step):
            if step < rise:
                return (step + 1) / rise
            return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rise) / max(1, updates - rise))))

        return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

    def prepare(self):
        model = self.build_model()
        loader, val_loader = self.build_loaders()
        self.model, self.optimizer, self.loader, self.val_loader = self.accelerator.prepare(
            model, self.build_optimizer(model), loader, val_loader
        )
        updates = self.cfg.epochs * math.ceil(len(self.loader) / self.cfg.accumulate)
        self.schedule = self.build_schedule(self.optimizer.optimizer, updates)
        self.accelerator.register_for_checkpointing(self.schedule, self.progress)

    def maybe_resume(self):
        if self.cfg.resume:
            self.accelerator.load_state(os.path.join(self.cfg.folder, "last"))

    def train_epoch(self):
        self.model.train()
        for batch in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.loss(self.model, batch)
                self.accelerator.backward(loss)
                if self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
                self.optimizer.step()
                if self.accelerator.sync_gradients and not self.accelerator.optimizer_step_was_skipped:
                    self.schedule.step()
                self.optimizer.zero_grad()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = []
        for batch in self.val_loader:
            loss = self.loss(self.model, batch)
            losses.append(self.accelerator.gather(loss.reshape(1)))
        return torch.cat(losses).mean().item()

    def run(self):
        self.prepare()
        self.maybe_resume()
        while self.progress.epoch < self.cfg.epochs:
            self.train_epoch()
            score = self.validate()
            self.accelerator.print(f"epoch {self.progress.epoch}: {score:.4f}")
            self.progress.epoch += 1
            self.progress.stale = 0 if score < self.progress.best else self.progress.stale + 1
            self.progress.best = min(score, self.progress.best)
            self.accelerator.save_state(os.path.join(self.cfg.folder, "last"))
            if self.progress.stale > self.cfg.patience:
                break
        self.accelerator.end_training()
