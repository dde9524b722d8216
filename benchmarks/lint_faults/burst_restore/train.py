import math

import torch

from checkpoint import CheckpointManager
from config import Config, parse_config
from data import NoiseCurriculum, build_loaders
from ema import ModelEMA
from engine import Trainer
from losses import RestorationLoss
from model import BurstNet


def warmup_cosine(warmup: int, total: int):
    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))

    return factor


def main(cfg: Config) -> None:
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader, val_loader = build_loaders(cfg)
    curriculum = NoiseCurriculum(cfg.sigma_start, cfg.sigma_end, cfg.curriculum_epochs)

    model = BurstNet(cfg.width, cfg.depth).to(device)
    ema = ModelEMA(model, cfg.ema_decay)
    criterion = RestorationLoss(cfg.w_pixel, cfg.w_ssim, cfg.w_freq).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total_steps = cfg.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_cosine(cfg.warmup_steps, total_steps))
    scaler = torch.amp.GradScaler("cuda", enabled=cfg.amp and device.type == "cuda")

    checkpoints = CheckpointManager(
        cfg.out_dir, model=model, ema=ema, optimizer=optimizer, scheduler=scheduler, scaler=scaler
    )
    start_epoch = checkpoints.restore(cfg.resume) if cfg.resume else 0
    trainer = Trainer(cfg, model, ema, criterion, optimizer, scheduler, scaler, device)

    for epoch in range(start_epoch, cfg.epochs):
        sigma = curriculum.sigma(epoch)
        train_loader.dataset.set_sigma(sigma)
        train_loss = trainer.train_one_epoch(train_loader, epoch)
        score = trainer.validate(ema.module, val_loader)
        improved = checkpoints.save(epoch, score)
        print(f"epoch {epoch}: sigma {sigma:.3f} train {train_loss:.4f} psnr {score:.2f}{' *' if improved else ''}")


if __name__ == "__main__":
    main(parse_config())
