"""The training of a spring network by several processes."""

from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel

from springs.average import WeightAverage
from springs.dataset import TrainingBatches, load, validation_batches
from springs.network import SpringNet
from springs.objective import SpringObjective
from springs.reporting import reporter, say
from springs.schedule import Schedule

OUTPUT = Path("outputs/springs_ddp")


class Trainer:
    def __init__(self, settings, seed, world):
        self.settings, self.world = settings, world
        if world.is_main:
            OUTPUT.mkdir(parents=True, exist_ok=True)
            settings.copy_to(OUTPUT)
            self.reporter = reporter(OUTPUT, settings.logging.backend, settings.fit.updates)

        self.batches = TrainingBatches(load(settings.data.folder, "train"), settings.data, seed, world)
        self.val_data = load(settings.data.folder, "val")
        self.val_loader = validation_batches(self.val_data, world)

        net = settings.network
        self.network = SpringNet(net.width, net.blocks, net.norm, net.dropout)
        self.parallel = DistributedDataParallel(self.network)
        self.average = WeightAverage(self.network, settings.fit.ema) if settings.fit.ema else None
        self.objective = SpringObjective(settings.objective)
        self.optimizer = self.build_optimizer()
        self.schedule = Schedule(settings.schedule, settings.fit.updates)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.schedule.factor)

        self.update = 0
        self.usual = None
        self.best = float("inf")

    def build_optimizer(self):
        options = self.settings.optimizer
        return torch.optim.AdamW(
            self.network.parameters(),
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            weight_decay=options.weight_decay,
        )

    def fit(self):
        fit, every = self.settings.fit, self.settings.logging.every
        batches = self.batches.beginning_at(self.update)
        told = []
        self.network.train()
        while self.update < fit.updates:
            told.append(self.train_update(next(batches)))
            self.update += 1
            if self.update % every == 0:
                self.report(told)
                told = []
            if self.update % fit.validate_every == 0:
                self.validate()
            if self.update % fit.checkpoint_every == 0:
                self.save(OUTPUT / "checkpoints" / f"update-{self.update:05d}.pt")

    def train_update(self, batch):
        """One update of the weights by all processes; gives the values of this one."""
        inputs, targets, raw = batch
        self.optimizer.zero_grad()
        parts = self.objective.parts(self.parallel(inputs), targets, raw)
        loss = self.objective.total(parts)
        loss.backward()
        limit = self.settings.optimizer.max_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)
        shared = self.world.sums([loss.item()])[0] / self.world.size
        if self.is_usual(shared):
            self.optimizer.step()
            if self.average is not None:
                self.average.update(self.network)
        self.scheduler.step()
        return {"loss": loss.item(), **{name: part.item() for name, part in parts.items()}, "norm": norm.item()}

    def is_usual(self, loss):
        """Whether a loss is no outlier among those before it."""
        if self.usual is None:
            self.usual = loss
        usual = loss <= self.settings.optimizer.skip_above * self.usual
        self.usual = 0.95 * self.usual + 0.05 * loss
        return usual

    def report(self, told):
        switches = self.settings.logging
        names = list(told[0])
        sums = self.world.sums([sum(one[name] for one in told) for name in names])
        means = {name: total / (len(told) * self.world.size) for name, total in zip(names, sums)}
        norm = means.pop("norm")
        if not switches.parts:
            means = {"loss": means["loss"]}
        if switches.rate:
            means["lr"] = self.scheduler.get_last_lr()[0]
        if switches.grad_norm:
            means["grad_norm"] = norm
        if self.world.is_main:
            self.reporter.report(self.update, "train", means)

    @torch.no_grad()
    def evaluate(self, network):
        """Loss, root mean square error and share of the variance explained, over all validation springs."""
        network.eval()
        loss, squared, count = 0.0, 0.0, 0
        for inputs, targets, raw in self.val_loader:
            predicted = network(inputs)
            loss += self.objective.total(self.objective.parts(predicted, targets, raw)).item() * len(inputs)
            squared += (predicted - targets).square().mean(1).sum().item()
            count += len(inputs)
        network.train()
        loss, squared, count = self.world.sums([loss, squared, count])
        mean_square = squared / count
        variance = self.val_data.tensors[1].var(0, unbiased=False).mean().item()
        return {"loss": loss / count, "rmse": mean_square**0.5, "r2": 1.0 - mean_square / variance}

    def validate(self):
        found = self.evaluate(self.network if self.average is None else self.average.network)
        if self.world.is_main:
            self.reporter.report(self.update, "val", found)
        if found["rmse"] < self.best:
            self.best = found["rmse"]
            self.save(OUTPUT / "best.pt")

    def save(self, path):
        """The main process writes; the others wait for it."""
        if self.world.is_main:
            path.parent.mkdir(parents=True, exist_ok=True)
            state = {
                "update": self.update,
                "usual": self.usual,
                "best": self.best,
                "network": self.network.state_dict(),
                "average": None if self.average is None else self.average.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "settings": self.settings.tables,
            }
            torch.save(state, path)
        self.world.wait()

    def restore(self, path):
        """Go on where a checkpoint was written."""
        if path == "latest":
            path = max((OUTPUT / "checkpoints").glob("update-*.pt"))
        state = torch.load(path)
        self.update, self.usual, self.best = state["update"], state["usual"], state["best"]
        self.network.load_state_dict(state["network"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        if self.world.is_main:
            say(f"going on from {path} at update {self.update}")
