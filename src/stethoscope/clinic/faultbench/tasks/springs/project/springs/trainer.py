"""The training of a spring network, from the first update to the last."""

import time
from pathlib import Path

import torch

from springs.average import WeightAverage
from springs.dataset import BatchStream, SpringData
from springs.network import SpringNet
from springs.objective import SpringObjective
from springs.reporting import reporter, say
from springs.schedule import Schedule

OUTPUT = Path("outputs/springs")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Meter:
    """The means of what was seen since they were last taken."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.sums, self.count = {}, 0

    def add(self, values):
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(value)
        self.count += 1

    def means(self):
        return {name: total / self.count for name, total in self.sums.items()}


class Trainer:
    def __init__(self, settings, seed):
        self.settings = settings
        OUTPUT.mkdir(parents=True, exist_ok=True)
        settings.copy_to(OUTPUT)

        data = settings.data
        self.train_data = SpringData(data.folder, "train", data.limit)
        self.val_data = SpringData(data.folder, "val")
        self.stream = BatchStream(self.train_data, data.batch, data.shuffle, seed, data.curriculum)

        net = settings.network
        self.network = SpringNet(net.width, net.blocks, net.norm, net.dropout)
        self.average = WeightAverage(self.network, settings.fit.ema) if settings.fit.ema else None
        self.objective = SpringObjective(settings.objective)
        self.optimizer = self.build_optimizer()
        self.schedule = Schedule(settings.schedule, settings.fit.updates)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.schedule.factor)
        self.dtype = DTYPES[settings.fit.precision]
        self.scaler = torch.amp.GradScaler(
            "cpu",
            init_scale=settings.fit.initial_scale,
            growth_interval=settings.fit.growth_interval,
            enabled=self.dtype == torch.float16,
        )

        self.update = 0
        self.best = float("inf")
        self.meter = Meter()
        self.reporter = reporter(OUTPUT, settings.logging.backend, settings.fit.updates)

    def build_optimizer(self):
        """Weight decay is for matrices only."""
        options = self.settings.optimizer
        matrices = [p for p in self.network.parameters() if p.ndim > 1]
        vectors = [p for p in self.network.parameters() if p.ndim <= 1]
        return torch.optim.AdamW(
            [
                {"params": matrices, "weight_decay": options.weight_decay},
                {"params": vectors, "weight_decay": 0.0},
            ],
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            eps=options.eps,
        )

    def fit(self):
        fit = self.settings.fit
        say(f"training for {fit.updates} updates with {len(self.train_data)} springs")
        self.network.train()
        while self.update < fit.updates:
            began = time.perf_counter()
            norm, ratio = self.train_update()
            self.update += 1
            if self.update % self.settings.logging.every == 0:
                self.report(norm, ratio, time.perf_counter() - began)
            if self.update % fit.validate_every == 0:
                self.validate()
            if self.update % fit.checkpoint_every == 0:
                self.save(OUTPUT / "checkpoints" / f"update-{self.update:05d}.pt")
        say(f"done; the best validation error is {self.best:.4f}")

    def train_update(self):
        """One update of the weights; gives the norm of its gradient and how far it moved them."""
        accumulate = self.settings.fit.accumulate
        self.optimizer.zero_grad()
        for _ in range(accumulate):
            inputs, targets, raw = self.stream.next()
            with torch.autocast("cpu", dtype=self.dtype, enabled=self.dtype != torch.float32):
                predicted = self.network(inputs)
            parts = self.objective.parts(predicted.float(), targets, raw)
            loss = self.objective.total(parts)
            self.scaler.scale(loss / accumulate).backward()
            self.meter.add({"loss": loss.detach(), **{name: part.detach() for name, part in parts.items()}})
        self.scaler.unscale_(self.optimizer)
        limit = self.settings.optimizer.max_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)
        before = self.flat_weights() if self.settings.logging.update_ratio else None
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.scaler.get_scale() >= scale:
            self.scheduler.step()
            if self.average is not None:
                self.average.update(self.network)
        ratio = None
        if before is not None:
            ratio = ((self.flat_weights() - before).norm() / before.norm()).item()
        return norm, ratio

    def flat_weights(self):
        return torch.nn.utils.parameters_to_vector(self.network.parameters()).detach().clone()

    def report(self, norm, ratio, seconds):
        switches = self.settings.logging
        values = self.meter.means()
        self.meter.reset()
        if not switches.parts:
            values = {"loss": values["loss"]}
        if switches.rate:
            values["lr"] = self.scheduler.get_last_lr()[0]
        if switches.grad_norm:
            values["grad_norm"] = norm.item()
        if ratio is not None:
            values["update_ratio"] = ratio
        if self.scaler.is_enabled():
            values["loss_scale"] = self.scaler.get_scale()
        if switches.seconds:
            values["step_seconds"] = seconds
        self.reporter.report(self.update, "train", values)

    @torch.no_grad()
    def evaluate(self, network):
        """Loss, root mean square error and share of the variance explained, over the validation springs."""
        network.eval()
        loss, squared, count = 0.0, 0.0, 0
        for inputs, targets, raw in self.val_data.batches(256):
            predicted = network(inputs)
            parts = self.objective.parts(predicted, targets, raw)
            loss += self.objective.total(parts).item() * len(inputs)
            squared += (predicted - targets).square().mean(1).sum().item()
            count += len(inputs)
        network.train()
        mean_square = squared / count
        variance = self.val_data.targets.var(0, unbiased=False).mean().item()
        return {"loss": loss / count, "rmse": mean_square**0.5, "r2": 1.0 - mean_square / variance}

    def validate(self):
        found = self.evaluate(self.network if self.average is None else self.average.network)
        self.reporter.report(self.update, "val", found)
        if found["rmse"] < self.best:
            self.best = found["rmse"]
            self.save(OUTPUT / "best.pt")

    def save(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {
            "update": self.update,
            "best": self.best,
            "network": self.network.state_dict(),
            "average": None if self.average is None else self.average.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "stream": self.stream.state_dict(),
            "random": torch.get_rng_state(),
            "settings": self.settings.tables,
        }
        torch.save(state, path)

    def restore(self, path):
        """Go on where a checkpoint was written."""
        if path == "latest":
            path = max((OUTPUT / "checkpoints").glob("update-*.pt"))
        state = torch.load(path)
        self.update, self.best = state["update"], state["best"]
        self.network.load_state_dict(state["network"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        self.stream.load_state_dict(state["stream"])
        torch.set_rng_state(state["random"])
        say(f"going on from {path} at update {self.update}")
