import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from .registry import DATASETS, HOOKS, MODELS, TRANSFORMS, WRAPPERS


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank, self.world = self._setup_env()
        torch.manual_seed(cfg["seed"] + self.rank)
        self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else torch.device("cpu")
        self.feature = TRANSFORMS.build(cfg["feature"])
        self.train_loader = self.build_loader(cfg["train_dataloader"], train=True)
        self.val_loader = self.build_loader(cfg["val_dataloader"], train=False)
        self.model = MODELS.build(cfg["model"]).to(self.device)
        if self.world > 1:
            self.model = DDP(self.model, device_ids=[self.device.index] if self.device.type == "cuda" else None)
        self.optim_wrapper = self.build_optim_wrapper(cfg["optim_wrapper"])
        self.scheduler = self.build_scheduler(cfg["param_scheduler"])
        self.hooks = [HOOKS.build(h) for h in cfg["default_hooks"]]
        self.epoch = self.iter = 0
        self.best, self.since_best, self.stop = 0.0, 0, False

    @staticmethod
    def _setup_env():
        world = int(os.environ.get("WORLD_SIZE", 1))
        if world > 1:
            dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
            if torch.cuda.is_available():
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
            return dist.get_rank(), world
        return 0, 1

    def bare_model(self):
        return self.model.module if isinstance(self.model, DDP) else self.model

    def build_loader(self, cfg, train):
        dataset = DATASETS.build(cfg["dataset"])
        sampler = DistributedSampler(dataset, self.world, self.rank, shuffle=cfg["sampler"]["shuffle"])
        return DataLoader(dataset, cfg["batch_size"], sampler=sampler, drop_last=train)

    def build_optim_wrapper(self, cfg):
        opt = dict(cfg["optimizer"])
        optimizer = getattr(torch.optim, opt.pop("type"))(self.model.parameters(), **opt)
        rest = {k: v for k, v in cfg.items() if k != "optimizer"}
        return WRAPPERS.build(rest, optimizer=optimizer)

    def build_scheduler(self, cfg):
        cfg = dict(cfg)
        kind, self.sched_by_epoch = cfg.pop("type"), cfg.pop("by_epoch")
        updates = len(self.train_loader) // self.cfg["optim_wrapper"]["accumulative_counts"]
        span = self.cfg["train_cfg"]["max_epochs"] * (1 if self.sched_by_epoch else updates)
        return getattr(torch.optim.lr_scheduler, kind)(self.optim_wrapper.optimizer, T_max=span, **cfg)

    def call_hook(self, name, *args):
        for hook in self.hooks:
            getattr(hook, name)(self, *args)

    def state_dict(self):
        return {
            "model": self.bare_model().state_dict(),
            "optim_wrapper": self.optim_wrapper.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "epoch": self.epoch + 1,
            "iter": self.iter,
            "best": self.best,
            "since_best": self.since_best,
        }

    def resume(self, path):
        state = torch.load(path, map_location=self.device)
        self.bare_model().load_state_dict(state["model"])
        self.optim_wrapper.load_state_dict(state["optim_wrapper"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.epoch, self.iter = state["epoch"], state["iter"]
        self.best, self.since_best = state["best"], state["since_best"]

    def train(self):
        if self.cfg["resume_from"]:
            self.resume(self.cfg["resume_from"])
        self.call_hook("before_run")
        while self.epoch < self.cfg["train_cfg"]["max_epochs"] and not self.stop:
            self.train_epoch()
            if (self.epoch + 1) % self.cfg["train_cfg"]["val_interval"] == 0:
                self.call_hook("after_val_epoch", self.val())
            self.call_hook("after_train_epoch")
            self.epoch += 1

    def train_epoch(self):
        self.model.train()
        self.train_loader.sampler.set_epoch(self.epoch)
        for wave, target in self.train_loader:
            wave, target = wave.to(self.device), target.to(self.device)
            with self.optim_wrapper.autocast(self.device):
                outputs = self.model(self.feature(wave), target)
            self.optim_wrapper.update_params(outputs["loss"])
            self.iter += 1
            if not self.sched_by_epoch and self.optim_wrapper.should_update():
                self.scheduler.step()
            self.call_hook("after_train_iter", outputs)
        if self.sched_by_epoch:
            self.scheduler.step()

    @torch.no_grad()
    def val(self):
        self.model.eval()
        tally = torch.zeros(3, device=self.device)
        for wave, target in self.val_loader:
            wave, target = wave.to(self.device), target.to(self.device)
            outputs = self.model(self.feature(wave), target)
            tally[0] += (outputs["logits"].argmax(-1) == target).sum()
            tally[1] += outputs["loss"] * len(target)
            tally[2] += len(target)
        if self.world > 1:
            dist.all_reduce(tally)
        return {"accuracy": (tally[0] / tally[2]).item(), "val_loss": (tally[1] / tally[2]).item()}
