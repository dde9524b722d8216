"""The trainer: epochs, steps, validation and checkpoints."""

import math
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from .curriculum import Curriculum
from .data import ProteinDataset
from .ema import ExponentialMovingAverage
from .graph import AbsorbingGraph
from .lr_schedule import WarmupCosineLR
from .model import SEDD
from .noise import get_noise
from .progress import MetricsLog, ProgressBar

TRAIN_SEED, VALID_SEED = 1, 2
EARLIEST = 1e-3  # the earliest time that is sampled: at 0 there is nothing to undo


class ProteinTrainer:
    """Trains one model by its settings and writes everything to `work_dir`."""

    def __init__(self, cfg: SimpleNamespace, work_dir: Path) -> None:
        self.cfg = cfg
        self.work_dir = work_dir
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = SEDD(cfg.model, cfg.tokens, cfg.data.max_length).to(self.device)
        self.graph = AbsorbingGraph(cfg.tokens)
        self.noise = get_noise(cfg.noise)
        self.curriculum = Curriculum(cfg.curriculum)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=cfg.optim.lr,
            betas=(cfg.optim.beta1, cfg.optim.beta2),
            weight_decay=cfg.optim.weight_decay,
        )
        self.scheduler = WarmupCosineLR(
            self.optimizer, warmup=cfg.optim.warmup, max_steps=cfg.training.n_iters
        )
        self.ema = ExponentialMovingAverage(self.model, cfg.training.ema)
        self.state: dict[str, Any] = {"step": 0, "epoch": 0, "best_loss": math.inf}
        self.metrics = MetricsLog(work_dir / "metrics.jsonl")
        self.train_loader = self._loader(cfg.data.train_sequences, TRAIN_SEED, shuffle=True)
        self.valid_loader = self._loader(cfg.data.valid_sequences, VALID_SEED, shuffle=False)

    def _loader(self, sequences: int, seed: int, shuffle: bool) -> DataLoader[Tensor]:
        dataset = ProteinDataset(sequences, self.cfg.data.max_length, seed)
        generator = torch.Generator().manual_seed(self.cfg.seed)
        return DataLoader(
            dataset, self.cfg.training.batch_size, shuffle=shuffle, drop_last=True, generator=generator
        )

    def compute_loss(self, x0: Tensor) -> Tensor:
        """The diffusion loss of one batch."""
        x0 = x0.to(self.device)
        t = EARLIEST + (1 - EARLIEST) * torch.rand(len(x0), device=self.device)
        sigma, dsigma = self.noise(t)
        corruption = sigma * self.curriculum.difficulty(self.state["step"])
        x = self.graph.sample_transition(x0, corruption[:, None])
        log_score = self.model(x, sigma)
        entropy = self.graph.score_entropy(log_score, sigma[:, None], x, x0)
        return (dsigma[:, None] * entropy).mean()

    def train(self) -> None:
        """Go through the epochs, or stop at `n_iters`."""
        training = self.cfg.training
        print(f"Number of parameters in the model: {sum(p.numel() for p in self.model.parameters())}")
        print(f"PyTorch {torch.__version__} on {self.device.type}")
        print(f"Starting training loop at step {self.state['step']}.", flush=True)
        self.model.train()
        while self.state["epoch"] < training.epochs and self.state["step"] < training.n_iters:
            self.train_epoch()

    def train_epoch(self) -> None:
        """Train on every sequence once."""
        training = self.cfg.training
        bar = ProgressBar(f"Epoch {self.state['epoch'] + 1}/{training.epochs}", len(self.train_loader))
        losses: list[float] = []
        for index, batch in enumerate(self.train_loader):
            loss = self.compute_loss(batch)
            (loss / training.accum).backward()
            losses.append(loss.item())
            self.state["step"] += 1
            step = self.state["step"]
            if (index + 1) % training.accum == 0:
                grad_norm = clip_grad_norm_(self.model.parameters(), self.cfg.optim.grad_clip)
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
                self.ema.update(self.model)

            if step % training.log_freq == 0:
                self.log_step(bar, index + 1, losses[-1], float(grad_norm))
            if step % training.eval_freq == 0:
                bar.close()
                self.validate_model()
            if step % training.snapshot_freq == 0:
                bar.close()
                self.save_checkpoint(sum(losses) / len(losses))
            if step >= training.n_iters:
                break
        bar.close()
        self.state["epoch"] += 1
        average = sum(losses) / len(losses)
        print(f"\N{BAR CHART} Epoch {self.state['epoch']} completed. Average loss: {average:.4f}", flush=True)
        self.metrics.log({"epoch/loss": average}, self.state["step"])

    def log_step(self, bar: ProgressBar, done: int, loss: float, grad_norm: float) -> None:
        """Show and write the numbers of this step."""
        step = self.state["step"]
        lr = self.optimizer.param_groups[0]["lr"]
        bar.show(
            done,
            loss=f"{loss:.4f}",
            lr=f"{lr:.2e}",
            step=f"{step}/{self.cfg.training.n_iters}",
            gpu_mem="N/A",
        )
        values = {
            "train/loss": loss,
            "train/learning_rate": lr,
            "train/step": step,
            "train/epoch": self.state["epoch"],
            "train/grad_norm": grad_norm,
        }
        self.metrics.log(values, step)

    @torch.no_grad()
    def validate_model(self) -> float:
        """Measure the loss on sequences that are not trained on."""
        step = self.state["step"]
        print(f"\N{LEFT-POINTING MAGNIFYING GLASS} Running validation at step {step}...")
        self.model.eval()
        losses = []
        for index, batch in enumerate(self.valid_loader):
            if index >= self.cfg.training.eval_batches:
                break
            losses.append(self.compute_loss(batch).item())
        self.model.train()
        val_loss = sum(losses) / len(losses)
        print(f"\N{WHITE HEAVY CHECK MARK} Validation loss: {val_loss:.4f}", flush=True)
        self.metrics.log({"val/loss": val_loss, "val/perplexity": math.exp(val_loss)}, step)
        return val_loss

    def save_checkpoint(self, average_loss: float) -> None:
        """Write the whole state; the best one also under a name of its own."""
        step = self.state["step"]
        is_best = average_loss < self.state["best_loss"]
        if is_best:
            self.state["best_loss"] = average_loss
            print(f"\N{PARTY POPPER} New best loss: {average_loss:.4f}")
        state: dict[str, Any] = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "ema": self.ema.state_dict(),
            "state": dict(self.state),
        }
        file = self.work_dir / "checkpoints" / f"checkpoint_step_{step}.pth"
        file.parent.mkdir(exist_ok=True)
        torch.save(state, file)
        print(f"Checkpoint saved: checkpoints/{file.name}", flush=True)
        if is_best:
            shutil.copyfile(file, file.with_name("best_checkpoint.pth"))
        values = {"checkpoint/best_loss": self.state["best_loss"], "checkpoint/is_best": float(is_best)}
        self.metrics.log(values, step)

    def resume(self, file: Path) -> None:
        """Go on from everything that `save_checkpoint` wrote."""
        state = torch.load(file, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.ema.load_state_dict(state["ema"])
        self.state = state["state"]
