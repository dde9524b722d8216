"""Train a deblurring network: python train.py, with Hydra's overrides behind it."""

# mypy: disable-error-code="import-not-found,misc,untyped-decorator"

import logging
from pathlib import Path

import hydra
import torch
from deblur.checkpoint import CheckpointManager
from deblur.data import DrawnPairs, RandomCrops
from deblur.schedule import CosineAnnealingWarmupLR
from deblur.training import Trainer
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig
from torch.utils.data import DataLoader

logger = logging.getLogger(__name__)

TRAIN_SEED, VAL_SEED = 1_000, 9_000


@hydra.main(version_base=None, config_path="configs", config_name="config")
def main(cfg: DictConfig) -> None:
    """Build everything that the settings describe, then train."""
    torch.set_num_threads(1)
    torch.manual_seed(cfg.seed)
    device = torch.device(cfg.device)
    crops = RandomCrops(
        DrawnPairs(cfg.dataset.train_images, cfg.dataset.image_size, TRAIN_SEED),
        cfg.dataset.crop_size,
        cfg.dataset.crops_per_epoch,
        cfg.seed,
    )
    val_set = DrawnPairs(cfg.dataset.val_images, cfg.dataset.image_size, VAL_SEED)
    val_loader = DataLoader(val_set, batch_size=cfg.train.batch_size)

    model = instantiate(cfg.model.network).to(device)
    criterion = instantiate(cfg.criterion)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.train.lr, weight_decay=cfg.train.weight_decay)
    scheduler = CosineAnnealingWarmupLR(
        optimizer,
        warmup_epochs=cfg.train.warmup_epochs,
        max_epochs=cfg.train.epochs,
        warmup_start_lr=cfg.train.warmup_start_lr,
        eta_min=cfg.train.eta_min,
    )
    logger.info("PyTorch %s on %s", torch.__version__, device.type)
    logger.info("Model %s has %d parameters", cfg.model.name, sum(p.numel() for p in model.parameters()))
    checkpoints = CheckpointManager(Path(HydraConfig.get().runtime.output_dir) / "checkpoints")
    start_epoch = cfg.train.start_epoch
    if cfg.train.last_checkpoint:
        start_epoch = checkpoints.resume(cfg.train.last_checkpoint, model, optimizer, scheduler)

    trainer = Trainer(model, criterion, optimizer, scheduler, checkpoints, device, cfg.train.grad_clip_norm)
    epochs = range(start_epoch, cfg.train.epochs + 1)
    if cfg.train.session_epochs:
        epochs = epochs[: cfg.train.session_epochs]
    trainer.fit(crops, cfg.train.batch_size, val_loader, epochs)
    logger.info("Training finished at epoch %d of %d", epochs[-1], cfg.train.epochs)


if __name__ == "__main__":
    main()
