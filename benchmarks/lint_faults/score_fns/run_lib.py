import logging
import os

import torch
from torch import nn

import losses
from ema import ExponentialMovingAverage


class VESDE:
    def __init__(self, sigma_min=0.01, sigma_max=5.0):
        self.sigma_min, self.sigma_max = sigma_min, sigma_max

    def std(self, t):
        return self.sigma_min * (self.sigma_max / self.sigma_min) ** t


class ScoreNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.SiLU(), nn.Dropout(0.1), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, t[:, None]], 1))


def checkerboard(n, generator):
    x = torch.rand(n, generator=generator) * 4 - 2
    y = torch.rand(n, generator=generator) - torch.randint(0, 2, (n,), generator=generator) * 2
    return torch.stack([x, y + torch.floor(x) % 2], 1)


def save_checkpoint(path, state):
    torch.save({"model": state["model"].state_dict(), "optimizer": state["optimizer"].state_dict(),
                "ema": state["ema"].state_dict(), "step": state["step"]}, path)


def restore_checkpoint(path, state, device):
    if not os.path.exists(path):
        return state
    loaded = torch.load(path, map_location=device)
    state["optimizer"].load_state_dict(loaded["optimizer"])
    state["model"].load_state_dict(loaded["model"])
    state["ema"].load_state_dict(loaded["ema"])
    state["step"] = loaded["step"]
    return state


def train(config, workdir):
    os.makedirs(workdir, exist_ok=True)
    torch.manual_seed(config.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = ScoreNet(config.model.hidden).to(device)
    optimizer = losses.get_optimizer(config, model.parameters())
    ema = ExponentialMovingAverage(model.parameters(), decay=config.model.ema_rate)
    state = dict(optimizer=optimizer, model=model, ema=ema, step=0)
    state = restore_checkpoint(os.path.join(workdir, "meta.pth"), state, device)

    sde = VESDE()
    n_iters = config.training.n_iters

    def difficulty(step):
        return min(1.0, 0.3 + 0.7 * step / max(1, n_iters // 2))

    optimize_fn = losses.optimization_manager(config)
    train_step_fn = losses.get_step_fn(sde, True, optimize_fn, difficulty)
    eval_step_fn = losses.get_step_fn(sde, False, optimize_fn)
    generator = torch.Generator().manual_seed(config.seed)
    eval_batch = checkerboard(256, torch.Generator().manual_seed(99)).to(device)

    best = float("inf")
    for step in range(state["step"], n_iters):
        batch = checkerboard(config.training.batch_size, generator).to(device)
        loss = train_step_fn(state, batch)
        if step % config.training.log_freq == 0:
            logging.info("step: %d, training_loss: %.5e", step, loss.item())
        if step % config.training.eval_freq == 0:
            eval_loss = eval_step_fn(state, eval_batch)
            logging.info("step: %d, eval_loss: %.5e", step, eval_loss.item())
            save_checkpoint(os.path.join(workdir, "meta.pth"), state)
            if eval_loss.item() < best:
                best = eval_loss.item()
                save_checkpoint(os.path.join(workdir, "best.pth"), state)
