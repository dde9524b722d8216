import torch
from torch.nn.utils import clip_grad_norm_

from config import Config
from metrics import AverageMeter, psnr


class Trainer:
    def __init__(self, cfg: Config, model, ema, criterion, optimizer, scheduler, scaler, device):
        self.cfg = cfg
        self.model, self.ema, self.criterion = model, ema, criterion
        self.optimizer, self.scheduler, self.scaler = optimizer, scheduler, scaler
        self.device = device
        self.autocast = torch.autocast(
            device_type=device.type, dtype=torch.float16, enabled=cfg.amp and device.type == "cuda"
        )

    def _to_device(self, batch):
        return {k: v.to(self.device, non_blocking=True) for k, v in batch.items()}

    def _optimizer_step(self):
        self.scaler.unscale_(self.optimizer)
        clip_grad_norm_(self.model.parameters(), self.cfg.grad_clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.scheduler.step()

    def train_one_epoch(self, loader, epoch: int) -> float:
        self.model.train()
        meter = AverageMeter()
        for step, batch in enumerate(loader):
            batch = self._to_device(batch)
            with self.autocast:
                restored = self.model(batch["burst"], batch["present"])
            loss, terms = self.criterion(restored, batch["clean"])
            self.scaler.scale(loss).backward()
            self._optimizer_step()
            self.ema.update(self.model)
            meter.update(loss, batch["clean"].size(0))
            if step % self.cfg.log_every == 0:
                parts = " ".join(f"{k}={v.item():.4f}" for k, v in terms.items())
                print(f"[{epoch}:{step}] loss={loss.item():.4f} {parts}")
        return meter.avg

    @torch.no_grad()
    def validate(self, net, loader) -> float:
        net.eval()
        meter = AverageMeter()
        for batch in loader:
            batch = self._to_device(batch)
            with self.autocast:
                restored = net(batch["burst"], batch["present"])
            scores = psnr(restored.float().clamp(0, 1), batch["clean"])
            meter.update(scores.mean(), scores.numel())
        return meter.avg
