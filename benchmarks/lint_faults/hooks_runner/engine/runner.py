import os

import torch


class Runner:
    def __init__(self, cfg, model, optimizer, scheduler, train_loader, val_loader, device):
        self.cfg, self.model, self.optimizer, self.scheduler = cfg, model, optimizer, scheduler
        self.train_loader, self.val_loader, self.device = train_loader, val_loader, device
        self.work_dir = cfg["work_dir"]
        os.makedirs(self.work_dir, exist_ok=True)
        self.hooks = []
        self.epoch, self.iter = 0, 0

    def register_hook(self, hook):
        self.hooks.append(hook)

    def call_hook(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def run(self):
        self.call_hook("before_run")
        while self.epoch < self.cfg["max_epochs"]:
            self.train_epoch()
            self.call_hook("after_train_epoch")
            self.epoch += 1

    def train_epoch(self):
        self.model.train()
        self.call_hook("before_train_epoch")
        for batch in self.train_loader:
            self.outputs = self.train_iter(batch)
            self.iter += 1
            self.call_hook("after_train_iter")

    def train_iter(self, batch):
        x, y = (t.to(self.device) for t in batch)
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.call_hook("after_backward")
        self.optimizer.step()
        return {"loss": loss.detach()}

    def save_checkpoint(self, path):
        torch.save(
            {
                "state_dict": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "meta": {"epoch": self.epoch + 1, "iter": self.iter},
            },
            path,
        )

    def load_checkpoint(self, path):
        checkpoint = torch.load(path, map_location=self.device)
        self.model.load_state_dict(checkpoint["state_dict"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.scheduler.load_state_dict(checkpoint["scheduler"])
        self.epoch = checkpoint["meta"]["epoch"]
        self.iter = checkpoint["meta"]["iter"]
