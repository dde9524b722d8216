import logging
import os
from collections import OrderedDict
from copy import deepcopy

import torch

from .metrics import calculate_psnr
from .registry import ARCH_REGISTRY, LOSS_REGISTRY, MODEL_REGISTRY, build

logger = logging.getLogger("upscale")


@MODEL_REGISTRY.register()
class SRModel:
    def __init__(self, opt):
        self.opt = opt
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net_g = build(ARCH_REGISTRY, {**opt["network_g"], "scale": opt["scale"]}).to(self.device)
        self.optimizers = []
        self.schedulers = []
        self.init_training_settings()

    def init_training_settings(self):
        self.net_g.train()
        train_opt = self.opt["train"]
        self.accum_iter = train_opt["accum_iter"]
        self.ema_decay = train_opt.get("ema_decay", 0)
        if self.ema_decay > 0:
            self.net_g_ema = deepcopy(self.net_g).eval().requires_grad_(False)
        self.criteria = OrderedDict()
        for key in ("pixel_opt", "ssim_opt", "fft_opt"):
            if train_opt.get(key):
                self.criteria["l_" + key[:-4]] = build(LOSS_REGISTRY, train_opt[key]).to(self.device)
        self.setup_optimizers()
        self.setup_schedulers()

    def setup_optimizers(self):
        optim_opt = dict(self.opt["train"]["optim_g"])
        cls = getattr(torch.optim, optim_opt.pop("type"))
        self.optimizer_g = cls(self.net_g.parameters(), **optim_opt)
        self.optimizers.append(self.optimizer_g)

    def setup_schedulers(self):
        sched_opt = dict(self.opt["train"]["scheduler"])
        cls = getattr(torch.optim.lr_scheduler, sched_opt.pop("type"))
        for optimizer in self.optimizers:
            self.schedulers.append(cls(optimizer, **sched_opt))

    def update_learning_rate(self):
        for scheduler in self.schedulers:
            scheduler.step()

    def feed_data(self, data):
        self.lq = data["lq"].to(self.device, non_blocking=True)
        self.gt = data["gt"].to(self.device, non_blocking=True)

    def optimize_parameters(self, batches):
        """One update from `accum_iter` batches."""
        self.optimizer_g.zero_grad()
        loss_dict = OrderedDict()
        for data in batches:
            self.feed_data(data)
            self.output = self.net_g(self.lq)
            l_total = 0
            for label, criterion in self.criteria.items():
                l_term = criterion(self.output, self.gt)
                l_total = l_total + l_term
                loss_dict[label] = l_term.detach()
            l_total = l_total / self.accum_iter
            l_total.backward()
        torch.nn.utils.clip_grad_norm_(self.net_g.parameters(), self.opt["train"]["grad_clip"])
        self.optimizer_g.step()
        if self.ema_decay > 0:
            self.model_ema(self.ema_decay)
        self.log_dict = loss_dict

    @torch.no_grad()
    def model_ema(self, decay):
        for ema, online in zip(self.net_g_ema.parameters(), self.net_g.parameters()):
            ema.mul_(decay).add_(online, alpha=1 - decay)

    def test(self):
        net = self.net_g_ema if self.ema_decay > 0 else self.net_g
        net.eval()
        with torch.inference_mode():
            self.output = net(self.lq)
        self.net_g.train()

    def validation(self, dataloader, current_iter):
        total = 0.0
        for val_data in dataloader:
            self.feed_data(val_data)
            self.test()
            total += calculate_psnr(self.output.clamp(0, 1), self.gt, self.opt["val"]["crop_border"])
        psnr = total / len(dataloader)
        logger.info("Validation @ %d iter  # psnr: %.4f", current_iter, psnr)
        return psnr

    def save(self, current_iter, root):
        os.makedirs(root, exist_ok=True)
        state = {"params": self.net_g.state_dict(), "iter": current_iter}
        if self.ema_decay > 0:
            state["params_ema"] = self.net_g_ema.state_dict()
        torch.save(state, os.path.join(root, f"net_g_{current_iter}.pth"))
