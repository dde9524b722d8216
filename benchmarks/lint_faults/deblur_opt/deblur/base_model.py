import copy
import math
import os

import torch
from torch.nn.parallel import DistributedDataParallel

from .dist_util import is_dist, master_only


class BaseModel:
    def __init__(self, opt):
        self.opt = opt
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.ema_updates = 0

    def model_to_device(self, net):
        net = net.to(self.device)
        if is_dist():
            ids = [torch.cuda.current_device()] if self.device.type == "cuda" else None
            net = DistributedDataParallel(net, device_ids=ids)
        return net

    @staticmethod
    def bare(net):
        return net.module if isinstance(net, DistributedDataParallel) else net

    def init_ema(self, net):
        self.net_ema = copy.deepcopy(self.bare(net)).eval()
        for p in self.net_ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update_ema(self, net, decay):
        """Averages faster at the beginning, when the weights are still far away."""
        self.ema_updates += 1
        d = min(decay, (1 + self.ema_updates) / (10 + self.ema_updates))
        for avg, new in zip(self.net_ema.parameters(), self.bare(net).parameters()):
            avg.lerp_(new, 1 - d)
        for avg, new in zip(self.net_ema.buffers(), self.bare(net).buffers()):
            avg.copy_(new)

    def setup_schedulers(self):
        s = self.opt["train"]["scheduler"]
        total, warmup = self.opt["train"]["total_iter"], s["warmup_iter"]

        def factor(it):
            if it < warmup:
                return (it + 1) / warmup
            t = min(1.0, (it - warmup) / max(1, total - warmup))
            return s["eta_min_ratio"] + (1 - s["eta_min_ratio"]) * 0.5 * (1 + math.cos(math.pi * t))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, factor)

    @master_only
    def save(self, epoch, current_iter):
        folder = os.path.join(self.opt["path"]["experiments_root"], self.opt["name"])
        os.makedirs(folder, exist_ok=True)
        state = {
            "epoch": epoch,
            "iter": current_iter,
            "params": self.bare(self.net_g).state_dict(),
            "params_ema": self.net_ema.state_dict(),
            "ema_updates": self.ema_updates,
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "scaler": self.scaler.state_dict(),
            "best_psnr": self.best_psnr,
        }
        torch.save(state, os.path.join(folder, "latest.state"))

    def resume_training(self, path):
        state = torch.load(path, map_location=self.device)
        self.bare(self.net_g).load_state_dict(state["params"])
        self.net_ema.load_state_dict(state["params_ema"])
        self.ema_updates = state["ema_updates"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        self.best_psnr = state["best_psnr"]
        return state["epoch"] + 1, state["iter"]
