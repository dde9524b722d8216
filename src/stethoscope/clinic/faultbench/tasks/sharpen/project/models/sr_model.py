"""The model: network, average of its weights, losses, optimizer and schedule."""

import copy
from collections import OrderedDict
from pathlib import Path

import torch
from archs.sharpen_arch import SharpenNet
from losses.balance import LossBalance
from losses.restoration_loss import build_loss
from metrics.psnr_ssim import calculate_psnr, calculate_ssim, tensor2img

TERMS = {"l_pix": "pixel_opt", "l_ssim": "ssim_opt", "l_edge": "edge_opt", "l_texture": "texture_opt"}


class SRModel:
    """Super-resolution with a pixel loss and auxiliary terms."""

    def __init__(self, opt):
        self.opt = opt
        self.root = Path(opt["path"]["experiments_root"]) / opt["name"]
        net_opt = opt["network_g"]
        self.net_g = SharpenNet(
            net_opt["num_feat"], net_opt["num_block"], upscale=opt["scale"], res_scale=net_opt["res_scale"]
        )
        self.best = {"psnr": 0.0, "iter": 0}
        self.log_dict = OrderedDict()
        self.init_training_settings()

    def init_training_settings(self):
        train_opt = self.opt["train"]
        self.ema_decay = train_opt["ema_decay"]
        self.net_g_ema = copy.deepcopy(self.net_g)
        self.net_g_ema.eval()
        for param in self.net_g_ema.parameters():
            param.requires_grad_(False)

        weights = {name: train_opt[key]["loss_weight"] for name, key in TERMS.items()}
        self.criteria = {name: build_loss(train_opt[TERMS[name]]) for name in TERMS if weights[name]}
        self.balance = LossBalance(weights, **train_opt["balance"])
        self.setup_optimizers()
        self.setup_schedulers()
        self.net_g.train()

    def setup_optimizers(self):
        optim_opt = self.opt["train"]["optim_g"]
        params = [param for param in self.net_g.parameters() if param.requires_grad]
        kinds = {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}
        self.optimizer_g = kinds[optim_opt["type"]](
            params,
            lr=optim_opt["lr"],
            betas=(0.9, optim_opt["beta2"]),
            eps=optim_opt["eps"],
            weight_decay=optim_opt["weight_decay"],
        )

    def setup_schedulers(self):
        train_opt = self.opt["train"]
        sched_opt, warmup = train_opt["scheduler"], max(1, train_opt["warmup_iter"])
        schedulers = torch.optim.lr_scheduler
        if sched_opt["type"] == "MultiStepLR":
            milestones = [at - warmup for at in sched_opt["milestones"]]
            main = schedulers.MultiStepLR(self.optimizer_g, milestones, gamma=sched_opt["gamma"])
        elif sched_opt["type"] == "CosineAnnealingLR":
            main = schedulers.CosineAnnealingLR(
                self.optimizer_g, sched_opt["t_max"] - warmup, eta_min=sched_opt["eta_min"]
            )
        elif sched_opt["type"] == "CosineAnnealingRestartLR":
            main = schedulers.CosineAnnealingWarmRestarts(
                self.optimizer_g, -(-(sched_opt["t_max"] - warmup) // 4), eta_min=sched_opt["eta_min"]
            )
        else:
            raise ValueError(f"no scheduler is called {sched_opt['type']}")
        warm = schedulers.LinearLR(self.optimizer_g, start_factor=1.0 / warmup, total_iters=warmup)
        self.scheduler = schedulers.SequentialLR(self.optimizer_g, [warm, main], milestones=[warmup])

    def feed_data(self, data, current_iter):
        self.lq, self.gt = data["lq"], data["gt"]
        data_opt = self.opt["datasets"]["train"]
        if data_opt["noise_sigma"]:
            strength = min(1.0, current_iter / data_opt["noise_ramp_iter"])
            sigma = data_opt["noise_sigma"] / 255.0 * strength
            self.lq = self.lq + sigma * torch.randn_like(self.lq)

    def optimize_parameters(self):
        train_opt = self.opt["train"]
        self.optimizer_g.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=train_opt["precision"] == "bf16"):
            self.output = self.net_g(self.lq)
        output = self.output.float()

        parts = {name: criterion(output, self.gt) for name, criterion in self.criteria.items()}
        self.balance.update(parts)
        losses = self.balance.apply(parts)
        l_total = sum(losses.values())
        l_total.backward()
        limit = train_opt["clip_grad_norm"] or float("inf")
        grad_norm = torch.nn.utils.clip_grad_norm_(self.net_g.parameters(), limit)
        self.optimizer_g.step()

        self.model_ema(decay=self.ema_decay)
        self.log_dict = OrderedDict(l_total=l_total.item())
        self.log_dict.update((name, loss.item()) for name, loss in losses.items())
        self.log_dict["grad_norm"] = grad_norm.item()

    @torch.no_grad()
    def model_ema(self, decay):
        net_g_params = dict(self.net_g.named_parameters())
        for name, param in self.net_g_ema.named_parameters():
            param.mul_(decay).add_(net_g_params[name], alpha=1 - decay)

    def update_learning_rate(self):
        self.scheduler.step()

    def get_current_learning_rate(self):
        return [group["lr"] for group in self.optimizer_g.param_groups]

    def get_current_log(self):
        return self.log_dict

    @torch.no_grad()
    def test(self, lq):
        self.net_g_ema.eval()
        return self.net_g_ema(lq)

    def validation(self, loader, current_iter):
        border = self.opt["val"]["crop_border"]
        metrics = {"psnr": 0.0, "ssim": 0.0}
        count = 0
        for data in loader:
            for sr, gt in zip(self.test(data["lq"]), data["gt"]):
                sr_img, gt_img = tensor2img(sr), tensor2img(gt)
                metrics["psnr"] += calculate_psnr(sr_img, gt_img, border)
                metrics["ssim"] += calculate_ssim(sr_img, gt_img, border)
                count += 1
        metrics = {name: total / count for name, total in metrics.items()}
        if metrics["psnr"] > self.best["psnr"]:
            self.best = {"psnr": metrics["psnr"], "iter": current_iter}
            self.save_network("best")
        return metrics

    def save_network(self, label):
        folder = self.root / "models"
        folder.mkdir(parents=True, exist_ok=True)
        states = {"params": self.net_g.state_dict(), "params_ema": self.net_g_ema.state_dict()}
        torch.save(states, folder / f"net_g_{label}.pth")

    def save(self, epoch, current_iter):
        self.save_network(f"{current_iter:06d}")
        state = {
            "epoch": epoch,
            "iter": current_iter,
            "optimizer": self.optimizer_g.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "balance": self.balance.state_dict(),
            "best": self.best,
            "rng": torch.get_rng_state(),
        }
        folder = self.root / "training_states"
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(state, folder / f"{current_iter:06d}.state")

    def resume_training(self, path):
        state = torch.load(path)
        networks = torch.load(self.root / "models" / f"net_g_{state['iter']:06d}.pth")
        self.net_g.load_state_dict(networks["params"])
        self.net_g_ema.load_state_dict(networks["params_ema"])
        self.optimizer_g.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.balance.load_state_dict(state["balance"])
        self.best = state["best"]
        torch.set_rng_state(state["rng"])
        return state["epoch"], state["iter"]
