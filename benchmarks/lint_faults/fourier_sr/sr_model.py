import copy
import os

import torch

from archs import TinyEDSR  # noqa: F401  (registers itself)
from losses import LossBag
from registry import ARCH_REGISTRY


class ModelEMA:
    def __init__(self, net, decay):
        self.module = copy.deepcopy(net).eval().requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, net):
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for ours, theirs in zip(self.module.parameters(), net.parameters()):
            ours.lerp_(theirs, 1 - decay)

    def state_dict(self):
        return {"module": self.module.state_dict(), "updates": self.updates}

    def load_state_dict(self, state):
        self.module.load_state_dict(state["module"])
        self.updates = state["updates"]


def calculate_psnr(img, img2, data_range=1.0):
    mse = torch.mean((img.double() - img2.double()) ** 2, dim=(1, 2, 3))
    return 10 * torch.log10(data_range**2 / mse.clamp_min(1e-12))


class SRModel:
    def __init__(self, opt, device):
        self.opt, self.device = opt, device
        train_opt = opt["train"]
        self.net_g = ARCH_REGISTRY.build({**opt["network_g"], "scale": opt["scale"]}).to(device)
        self.net_ema = ModelEMA(self.net_g, train_opt["ema_decay"])
        self.criterion = LossBag(train_opt["losses"]).to(device)
        self.optimizer = torch.optim.Adam(
            self.net_g.parameters(),
            lr=train_opt["lr"],
            betas=tuple(train_opt["betas"]),
            weight_decay=train_opt["weight_decay"],
        )
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            self.optimizer, T_max=train_opt["total_iter"], eta_min=train_opt["eta_min"]
        )
        self.use_amp = opt["use_amp"] and device.type == "cuda"
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.use_amp)

    def feed_data(self, data):
        self.lq = data["lq"].to(self.device, non_blocking=True)
        self.gt = data["gt"].to(self.device, non_blocking=True)

    def optimize_parameters(self):
        self.net_g.train()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.use_amp):
            output = self.net_g(self.lq)
            l_total, self.log_dict = self.criterion(output, self.gt)
        self.scaler.scale(l_total).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net_g.parameters(), self.opt["train"]["grad_clip"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.net_ema.update(self.net_g)

    @torch.no_grad()
    def validation(self, loader):
        net = self.net_ema.module
        net.eval()
        total, seen = 0.0, 0
        for data in loader:
            self.feed_data(data)
            sr = net(self.lq).clamp(0, 1)
            total += calculate_psnr(sr, self.gt).sum().item()
            seen += sr.shape[0]
        return total / seen

    def save(self, path, current_iter, best_psnr):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(
            {
                "net_g": self.net_g.state_dict(),
                "net_ema": self.net_ema.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "scaler": self.scaler.state_dict(),
                "iter": current_iter,
                "best_psnr": best_psnr,
            },
            path,
        )

    def resume_training(self, path):
        state = torch.load(path, map_location=self.device)
        self.net_g.load_state_dict(state["net_g"])
        self.net_ema.load_state_dict(state["net_ema"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        return state["iter"], state["best_psnr"]
