import torch
from torch import nn


class Engine:
    """One optimisation step and one pass over the validation records."""

    def __init__(self, model, optimizer, device, cfg):
        self.model, self.optimizer, self.device, self.cfg = model, optimizer, device, cfg
        self.amp = cfg["amp"] and device.type == "cuda"
        self.scaler = torch.cuda.amp.GradScaler(enabled=self.amp)
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(cfg["pos_weight"], device=device))

    def step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
            logits = self.model(x)
            loss = self.criterion(logits, y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["clip"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def fit_epoch(self, loader):
        self.model.train()
        losses = [self.step(x.to(self.device), y.to(self.device)) for x, y in loader]
        return torch.stack(losses).mean().item()

    @torch.inference_mode()
    def f1(self, loader):
        self.model.eval()
        tp = fp = fn = 0.0
        for x, y in loader:
            guess = (self.model(x.to(self.device)) > 0).float().cpu()
            tp += (guess * y).sum(0)
            fp += (guess * (1 - y)).sum(0)
            fn += ((1 - guess) * y).sum(0)
        return (2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean().item()
