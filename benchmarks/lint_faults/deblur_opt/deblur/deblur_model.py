import os

import torch
import torch.nn.functional as F

from .archs import build_network
from .base_model import BaseModel
from .dist_util import master_only, sum_over_ranks
from .metrics import calculate_psnr


class DeblurModel(BaseModel):
    def __init__(self, opt):
        super().__init__(opt)
        train = opt["train"]
        self.net_g = self.model_to_device(build_network(opt["network_g"]))
        self.init_ema(self.net_g)
        self.optimizer = torch.optim.AdamW(
            self.net_g.parameters(), lr=train["optim_g"]["lr"], weight_decay=train["optim_g"]["weight_decay"]
        )
        self.setup_schedulers()
        self.use_amp = train["use_amp"] and self.device.type == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.use_amp)
        self.best_psnr = 0.0
        self.log = {}

    def feed_data(self, data):
        self.lq = data["lq"].to(self.device, non_blocking=True)
        self.gt = data["gt"].to(self.device, non_blocking=True)

    def losses(self, output):
        train = self.opt["train"]
        pix = train["pixel_opt"]["loss_weight"] * F.l1_loss(output, self.gt)
        dx = output.diff(dim=-1) - self.gt.diff(dim=-1)
        edge = train["edge_opt"]["loss_weight"] * dx.abs().mean()
        return {"l_pix": pix, "l_edge": edge}

    def optimize_parameters(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.use_amp):
            output = self.net_g(self.lq)
        parts = self.losses(output.float())
        self.scaler.scale(sum(parts.values())).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.net_g.parameters(), self.opt["train"]["grad_clip"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.update_ema(self.net_g, self.opt["train"]["ema_decay"])
        self.log = {k: v.detach() for k, v in parts.items()}

    @torch.no_grad()
    def test(self):
        self.net_ema.eval()
        return self.net_ema(self.lq)

    def validation(self, loader):
        total = torch.zeros(2, device=self.device)
        for data in loader:
            self.feed_data(data)
            psnr = calculate_psnr(self.test(), self.gt, self.opt["val"]["crop_border"])
            total += torch.stack([psnr, torch.ones_like(psnr)])
        total = sum_over_ranks(total)
        psnr = (total[0] / total[1]).item()
        if psnr > self.best_psnr:
            self.best_psnr = psnr
            self.save_best()
        return psnr

    @master_only
    def save_best(self):
        folder = os.path.join(self.opt["path"]["experiments_root"], self.opt["name"])
        os.makedirs(folder, exist_ok=True)
        torch.save({"params_ema": self.net_ema.state_dict(), "psnr": self.best_psnr}, os.path.join(folder, "best.pth"))
