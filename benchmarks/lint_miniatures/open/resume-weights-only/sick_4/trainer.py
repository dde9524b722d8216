from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, run_dir, total_steps=10000, save_every=500):
        self.model, self.loader = model, loader
        self.optim = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.optim, max_lr=6e-4, total_steps=total_steps)
        self.total_steps, self.save_every = total_steps, save_every
        self.step = 0
        self.run_dir = Path(run_dir)
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self.maybe_resume()

    def state_dict(self):
        return {"model": self.model.state_dict(), "step": self.step}  #@

    def maybe_resume(self):
        found = sorted(self.run_dir.glob("step_*.pt"))
        if found:
            state = torch.load(found[-1], map_location="cpu")
            self.model.load_state_dict(state["model"])  #@
            self.step = state["step"]  #@

    def run(self):
        self.model.train()
        while self.step < self.total_steps:
            for x, y in self.loader:
                loss = nn.functional.mse_loss(self.model(x), y)
                self.optim.zero_grad(set_to_none=True)
                loss.backward()
                self.optim.step()
                self.sched.step()
                self.step += 1
                if self.step % self.save_every == 0:
                    torch.save(self.state_dict(), self.run_dir / f"step_{self.step:06d}.pt")  #@
                if self.step >= self.total_steps:
                    break


if __name__ == "__main__":
    x = torch.randn(3200, 10)
    dl = DataLoader(TensorDataset(x, x.cos().sum(1, keepdim=True)), batch_size=32, shuffle=True)
    Trainer(nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 1)), dl, "runs/a").run()
