import copy
import math
import os
from collections import OrderedDict

import torch

from basic.metrics import calculate_psnr, tensor2img
from basic.registry import ARCH_REGISTRY, LOSS_REGISTRY

DTYPES = {None: None, "float16": torch.float16, "bfloat16": torch.bfloat16}


class RestorationModel:
    def __init__(self, opt):
        self.opt = opt
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net_g = ARCH_REGISTRY.build(opt["network_g"]).to(self.device)
        self.net_g_ema = copy.deepcopy(self.net_g).eval().requires_grad_(False)
        self.log_dict = OrderedDict()
        self.init_training_settings()

    def init_training_settings(self):
        train_opt = self.opt["train"]
        self.ema_decay = train_opt["ema_decay"]
        self.cri_pix = LOSS_REGISTRY.build(train_opt["pixel_opt"]).to(self.device)
        self.cri_fft = LOSS_REGISTRY.build(train_opt["fft_opt"]).to(self.device)
        self.amp_dtype = DTYPES[train_opt["amp"]]
        self.use_amp = self.amp_dtype is not None
        self.scaler = torch.amp.GradScaler(
            self.device.type, enabled=self.use_amp and self.amp_dtype == torch.float16
        )
        self.setup_optimizers()
        self.setup_schedulers()

    def setup_optimizers(self):
        optim_opt = dict(self.opt["train"]["optim"])
        optim_type = getattr(torch.optim, optim_opt.pop("type"))
        self.optimizer_g = optim_type(self.net_g.parameters(), **optim_opt)

    def setup_schedulers(self):
        total = self.opt["train"]["total_iter"]
        warmup = self.opt["train"]["scheduler"]["warmup_iter"]
        floor = self.opt["train"]["scheduler"]["eta_min"] / self.opt["train"]["optim"]["lr"]

        def factor(it):
            if it < warmup:
                return (it + 1) / warmup
            return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * (it - warmup) / max(1, total - warmup)))

        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer_g, factor)

    def autocast(self):
        return torch.autocast(self.device.type, dtype=self.amp_dtype or torch.bfloat16, enabled=self.use_amp)

    def feed_data(self, data):
        self.lq = data["lq"].to(self.device, non_blocking=True)
        self.gt = data["gt"].to(self.device, non_blocking=True)

    def optimize_parameters(self):
        self.net_g.train()
        self.optimizer_g.zero_grad(set_to_none=True)
        with self.autocast():
            self.output = self.net_g(self.lq)
        output = self.output.float()
        l_pix = self.cri_pix(output, self.gt)
        l_fft = self.cri_fft(output, self.gt)
        self.scaler.scale(l_pix + l_fft).backward()

        self.scaler.unscale_(self.optimizer_g)
        grads = [p.grad for p in self.net_g.parameters() if p.grad is not None]
        grad_norm = torch.nn.utils.get_total_norm(grads)
        for g in grads:
            torch.nan_to_num_(g, nan=0.0, posinf=0.0, neginf=0.0)
        torch.nn.utils.clip_grad_norm_(self.net_g.parameters(), self.opt["train"]["max_norm"])
        self.scaler.step(self.optimizer_g)
        self.scaler.update()
        self.scheduler.step()
        self.model_ema()
        self.log_dict = OrderedDict(l_pix=l_pix.detach(), l_fft=l_fft.detach(), grad_norm=grad_norm)

    @torch.no_grad()
    def model_ema(self):
        for mean, p in zip(self.net_g_ema.parameters(), self.net_g.parameters()):
            mean.mul_(self.ema_decay).add_(p, alpha=1 - self.ema_decay)

    @torch.no_grad()
    def validation(self, loader):
        border = self.opt["val"]["metrics"]["psnr"]["crop_border"]
        scores = []
        for data in loader:
            self.feed_data(data)
            with self.autocast():
                restored = self.net_g_ema(self.lq)
            scores.append(calculate_psnr(tensor2img(restored[0]), tensor2img(self.gt[0]), border))
        return sum(scores) / len(scores)

    def get_current_log(self):
        return {k: v.item() for k, v in self.log_dict.items()}

    def save(self, folder, epoch, current_iter, best):
        os.makedirs(folder, exist_ok=True)
        torch.save(
            {
                "params": self.net_g.state_dict(),
                "params_ema": self.net_g_ema.state_dict(),
                "optimizer": self.optimizer_g.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "scaler": self.scaler.state_dict(),
                "epoch": epoch,
                "iter": current_iter,
                "best": best,
            },
            os.path.join(folder, "latest.state"),
        )

    def resume_training(self, path):
        state = torch.load(path, map_location=self.device)
        self.net_g.load_state_dict(state["params"])
        self.net_g_ema.load_state_dict(state["params_ema"])
        self.optimizer_g.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        return state["epoch"], state["iter"], state["best"]
