"""What happens around the training steps: validation, logs, checkpoints."""

import torch

from inverse_folding.diffusion import nats_of

LEVELS = (0.2, 0.5, 0.8, 0.95)
MASK_SEED = 77


class Callback:
    def on_fit_start(self, experiment):
        pass

    def on_step_end(self, experiment, outcome):
        pass

    def on_fit_end(self, experiment):
        pass

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


class ValidationCallback(Callback):
    """Measures what is held back at fixed levels, with masks that are always the same."""

    def __init__(self, every_n_steps, logger, path):
        self.every, self.logger, self.path = every_n_steps, logger, path
        self.best = float("inf")

    def on_step_end(self, experiment, outcome):
        if experiment.step % self.every:
            return
        measured = self.validate(experiment)
        self.logger.write(experiment.step, "val", measured)
        if measured["nats"] < self.best:
            self.best = measured["nats"]
            torch.save(experiment.best_network.state_dict(), self.path)

    @torch.no_grad()
    def validate(self, experiment):
        network, proteins = experiment.best_network, experiment.held_back
        network.eval()
        generator = torch.Generator().manual_seed(MASK_SEED)
        nats, right, count = 0.0, 0, 0
        for share in LEVELS:
            level = torch.full((len(proteins),), share)
            noisy, masked = experiment.noise.corrupt(proteins.tokens, proteins.real, level, generator)
            with experiment.autocast():
                logits, _ = network(noisy, level, proteins.exposure, proteins.real)
            nats += nats_of(logits, proteins.tokens)[masked].sum().item()
            right += (logits.argmax(-1) == proteins.tokens)[masked].sum().item()
            count += int(masked.sum())
        network.train()
        return {"nats": nats / count, "accuracy": right / count}

    def state_dict(self):
        return {"best": self.best}

    def load_state_dict(self, state):
        self.best = state["best"]


class LoggingCallback(Callback):
    """Writes the mean of the last steps, and what else the settings ask for."""

    def __init__(self, logging, logger):
        self.logging, self.logger = logging, logger
        self.outcomes = []

    def on_step_end(self, experiment, outcome):
        self.outcomes.append(outcome)
        if experiment.step % self.logging.every_n_steps:
            return
        self.logger.write(experiment.step, "train", self.summary(outcome))
        self.outcomes.clear()

    def summary(self, latest):
        row = {"loss": self.mean("loss")}
        if self.logging.loss_parts:
            row |= {"nats": self.mean("nats"), "b_factor": self.mean("b_factor")}
        if self.logging.learning_rate:
            row["lr"] = latest["lr"]
        if self.logging.grad_norm:
            row["grad_norm"] = latest["grad_norm"]
        if self.logging.difficulty:
            row["difficulty"] = latest["difficulty"]
        if self.logging.step_time:
            row["step_time"] = self.mean("seconds")
        return row

    def mean(self, key):
        return sum(outcome[key] for outcome in self.outcomes) / len(self.outcomes)


class CheckpointCallback(Callback):
    """Keeps the whole experiment every so often."""

    def __init__(self, every_n_steps, folder):
        self.every, self.folder = every_n_steps, folder

    def on_fit_start(self, experiment):
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_step_end(self, experiment, outcome):
        if experiment.step % self.every == 0:
            torch.save(experiment.state_dict(), self.folder / f"step={experiment.step:06d}.pt")
