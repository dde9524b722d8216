"""An experiment: everything that training needs, and the loop; what else happens is left to callbacks."""

import time
from contextlib import nullcontext
from dataclasses import asdict

import torch

from inverse_folding.corpus import BatchStream, load_proteins
from inverse_folding.diffusion import AbsorbingNoise, Curriculum, level_weights, nats_of
from inverse_folding.network import SequenceDenoiser
from inverse_folding.optim import WarmupSchedule, WeightAverage, build_optimizer


class Experiment:
    def __init__(self, config, seed, callbacks=()):
        self.config, self.callbacks = config, list(callbacks)
        torch.manual_seed(seed)
        self.step = 0
        self.stream = BatchStream(
            load_proteins("train", config.data.limit),
            max(1, config.data.batch_size // config.trainer.accumulate),
            config.data.shuffle,
            seed,
        )
        self.held_back = load_proteins("val")
        net = config.network
        self.network = SequenceDenoiser(net.width, net.depth, net.heads, net.dropout, net.norm_first)
        ramp_steps = round(config.curriculum.ramp * config.trainer.max_steps)
        self.curriculum = Curriculum(config.curriculum.shape, config.curriculum.start, ramp_steps)
        self.noise = AbsorbingNoise(
            config.noise.low,
            config.noise.high,
            config.curriculum.drop_easy,
            config.noise.one_level_per_batch,
        )
        self.optimizer = build_optimizer(self.network, config.optim)
        self.schedule = WarmupSchedule(self.optimizer, config.optim)
        decay = config.trainer.ema_decay
        self.average = WeightAverage(self.network, decay) if decay > 0 else None

    @property
    def best_network(self):
        """The network to validate: the average, where there is one."""
        return self.average.network if self.average is not None else self.network

    def autocast(self):
        if self.config.trainer.precision == "bf16":
            return torch.autocast("cpu", dtype=torch.bfloat16)
        return nullcontext()

    def fit(self):
        self.network.train()
        self.notify("on_fit_start")
        while self.step < self.config.trainer.max_steps:
            outcome = self.training_step()
            self.step += 1
            self.notify("on_step_end", outcome)
        self.notify("on_fit_end")

    def notify(self, event, *given):
        for callback in self.callbacks:
            getattr(callback, event)(self, *given)

    def corrupted_batches(self, difficulty):
        """What one optimizer step is made of, with the masks drawn."""
        only_short = self.step < self.config.data.short_until * self.config.trainer.max_steps
        for _ in range(self.config.trainer.accumulate):
            batch = self.stream.next_batch(only_short)
            level = self.noise.draw_levels(len(batch), difficulty)
            noisy, masked = self.noise.corrupt(batch.tokens, batch.real, level)
            yield batch, level, noisy, masked

    def training_step(self):
        began = time.perf_counter()
        objective, optim = self.config.objective, self.config.optim
        difficulty = self.curriculum.difficulty(self.step)
        batches = list(self.corrupted_batches(difficulty))
        masked_total = max(1, sum(int(masked.sum()) for *_, masked in batches))
        real_total = sum(int(batch.real.sum()) for batch, *_ in batches)

        self.optimizer.zero_grad()
        nats_total, b_factor_total = 0.0, 0.0
        for batch, level, noisy, masked in batches:
            with self.autocast():
                logits, b_factor = self.network(noisy, level, batch.exposure, batch.real)
            costs = nats_of(logits, batch.tokens) * level_weights(level, objective.weighting)[:, None]
            nats = (costs * masked).sum() / masked_total
            misses = (b_factor.float() - batch.b_factor).square()
            b_factor_loss = (misses * batch.real).sum() / real_total
            loss = nats + objective.b_factor_weight * b_factor_loss
            loss.backward()
            nats_total += nats.item()
            b_factor_total += b_factor_loss.item()

        limit = optim.grad_clip if optim.grad_clip > 0 else float("inf")
        grad_norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), limit)
        used_lr = self.schedule.rate
        self.optimizer.step()
        self.schedule.step()
        if self.average is not None:
            self.average.update(self.network)
        return {
            "loss": nats_total + objective.b_factor_weight * b_factor_total,
            "nats": nats_total,
            "b_factor": b_factor_total,
            "difficulty": difficulty,
            "lr": used_lr,
            "grad_norm": float(grad_norm),
            "seconds": time.perf_counter() - began,
        }

    def state_dict(self):
        return {
            "step": self.step,
            "config": asdict(self.config),
            "network": self.network.state_dict(),
            "average": self.average.network.state_dict() if self.average is not None else None,
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "stream": self.stream.state_dict(),
            "rng": torch.get_rng_state(),
            "callbacks": [callback.state_dict() for callback in self.callbacks],
        }

    def load_state_dict(self, state):
        self.step = state["step"]
        self.network.load_state_dict(state["network"])
        if self.average is not None:
            self.average.network.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.stream.load_state_dict(state["stream"])
        torch.set_rng_state(state["rng"])
        for callback, kept in zip(self.callbacks, state["callbacks"]):
            callback.load_state_dict(kept)
