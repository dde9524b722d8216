"""Train one denoising prior for three imaging domains. run.sh has the settings."""

# mypy: disable-error-code="import-not-found"

import argparse
import logging
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from prior.data import CHANNELS, DOMAINS, PriorDataset, training_loader, validation_loader
from prior.network import SongUNet, VPPrecond
from torch import Tensor, nn
from torch.utils.data import DataLoader

logger = logging.getLogger("train_prior")

TRAIN_TILES, VAL_TILES = 1536, 96
TRAIN_SEED, VAL_SEED = 10_000, 90_000


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    # Optimisation
    parser.add_argument("--max_steps", type=int, default=450_000)
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--gradient_clip_norm", type=float, default=1.0)
    parser.add_argument("--lr_scheduler", choices=["cosine", "constant"], default="cosine")
    parser.add_argument("--warmup_steps", type=int, default=20_000)
    parser.add_argument("--mixed_precision", choices=["bf16", "no"], default="bf16")
    # Network
    parser.add_argument("--model_channels", type=int, default=320)
    parser.add_argument("--num_blocks", type=int, default=8)
    parser.add_argument("--dropout", type=float, default=0.1)
    # How often, and where from
    parser.add_argument("--log_frequency", type=int, default=100)
    parser.add_argument("--val_frequency", type=int, default=5_000)
    parser.add_argument("--save_frequency", type=int, default=25_000)
    parser.add_argument("--resume_checkpoint", type=Path, help="a checkpoint to go on from")
    return parser.parse_args()


class TrainingManager:
    """The model with what trains it, and the folder that it writes to."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        network = SongUNet(CHANNELS, args.model_channels, args.num_blocks, len(DOMAINS), args.dropout)
        self.model: nn.Module = VPPrecond(network).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.learning_rate, weight_decay=0.01)
        self.scaler = torch.amp.GradScaler(self.device.type)
        self.config = {
            "learning_rate": args.learning_rate,
            "batch_size": args.batch_size,
            "gradient_accumulation_steps": args.gradient_accumulation_steps,
            "gradient_clip_norm": args.gradient_clip_norm,
            "lr_scheduler": args.lr_scheduler,
            "warmup_steps": args.warmup_steps,
            "mixed_precision": args.mixed_precision,
        }
        self.best_val_loss = float("inf")

    def describe(self) -> None:
        """Write down what is about to run."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        logger.info("PyTorch %s on %s", torch.__version__, self.device.type)
        logger.info("Model parameters: %s", f"{parameters:,}")
        logger.info("Training configuration:")
        for name, value in self.config.items():
            logger.info("   %s: %s", name, value)
        effective = self.args.batch_size * self.args.gradient_accumulation_steps
        logger.info("   effective batch size: %d", effective)

    def autocast(self) -> torch.autocast:
        """Run what is inside in bfloat16, where that was asked for."""
        enabled = self.args.mixed_precision == "bf16"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=enabled)

    def save_checkpoint(self, step: int) -> None:
        """Write everything that a later run needs."""
        folder = self.args.output_dir / "checkpoints"
        folder.mkdir(exist_ok=True)
        state: dict[str, Any] = {
            "step": step,
            "model_state_dict": self.model.state_dict(),
            "optimizer_state_dict": self.optimizer.state_dict(),
            "scaler_state_dict": self.scaler.state_dict(),
            "best_val_loss": self.best_val_loss,
            "config": self.config,
        }
        torch.save(state, folder / f"checkpoint_step_{step:07d}.pth")
        logger.info("   Checkpoint saved at step %s", f"{step:,}")

    def save_best(self, step: int, val_loss: float) -> None:
        """Keep the model where it has the lowest validation loss so far."""
        if val_loss >= self.best_val_loss:
            return
        self.best_val_loss = val_loss
        state = {"step": step, "model_state_dict": self.model.state_dict(), "val_loss": val_loss}
        torch.save(state, self.args.output_dir / "best_model.pth")
        logger.info("   \N{TROPHY} New best model!")


def diffusion_loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """The denoising loss of one batch, each tile at a noise level of its own."""
    clean, domain = batch["clean"], batch["domain"]
    sigma = torch.exp(torch.randn(clean.shape[0], device=clean.device) * 1.2 - 1.2).view(-1, 1, 1, 1)
    noisy = clean + sigma * torch.randn_like(clean)
    prediction = model(noisy, sigma, domain)
    # The velocity: bounded at every noise level.
    target = (clean - noisy / (sigma**2 + 1)) * (sigma**2 + 1).sqrt() / sigma
    return F.mse_loss(prediction, target)


@torch.no_grad()
def validate(manager: TrainingManager, loader: DataLoader[dict[str, Tensor]]) -> float:
    """The mean loss over the validation tiles."""
    manager.model.eval()
    losses = []
    for batch in loader:
        batch = {name: value.to(manager.device) for name, value in batch.items()}
        with manager.autocast():
            losses.append(diffusion_loss(manager.model, batch))
    manager.model.train()
    return float(torch.stack(losses).mean())


def train(args: argparse.Namespace) -> None:
    """Train until `max_steps`, validating and saving on the way."""
    torch.manual_seed(args.seed)
    manager = TrainingManager(args)
    manager.describe()
    train_loader = training_loader(PriorDataset(TRAIN_TILES, TRAIN_SEED), args.batch_size, args.seed)
    val_loader = validation_loader(PriorDataset(VAL_TILES, VAL_SEED), args.batch_size)
    step = 0
    if args.resume_checkpoint:
        logger.info("Resuming from %s", args.resume_checkpoint)

    logger.info("Starting training for %s steps", f"{args.max_steps:,}")
    manager.model.train()
    while step < args.max_steps:
        for batch in train_loader:
            batch = {name: value.to(manager.device) for name, value in batch.items()}
            with manager.autocast():
                loss = diffusion_loss(manager.model, batch)
            manager.optimizer.zero_grad()
            manager.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            manager.scaler.step(manager.optimizer)
            manager.scaler.update()
            step += 1

            if step % args.log_frequency == 0:
                logger.info("Step %s: Loss = %.6f", f"{step:,}", loss.item())
            if step % args.val_frequency == 0:
                val_loss = validate(manager, val_loader)
                logger.info("   Validation Loss: %.6f", val_loss)
                manager.save_best(step, val_loss)
            if step % args.save_frequency == 0:
                manager.save_checkpoint(step)
            if step >= args.max_steps:
                break
    logger.info("Training completed at step %s", f"{step:,}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(message)s")
    train(parse_arguments())
