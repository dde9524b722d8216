"""Fit implicit surfaces; the steps are closures so that optimizers can be swapped freely."""
import argparse
from functools import partial

import torch
from torch import nn


def sphere_sdf(points):
    return points.norm(dim=-1, keepdim=True) - 0.7


class Siren(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.first = nn.Linear(3, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(torch.sin(self.second(torch.sin(8.0 * self.first(x)))))


def surface_loss(model, points, eikonal_weight):
    points = points.requires_grad_(True)
    pred = model(points)
    (grad,) = torch.autograd.grad(pred.sum(), points, create_graph=True)
    fit = (pred - sphere_sdf(points)).abs().mean()
    eikonal = (grad.norm(dim=-1) - 1).square().mean()
    return fit + eikonal_weight * eikonal


def make_closure(model, optimizer, batch, loss_fn):
    def closure():
        optimizer.zero_grad()
        loss = loss_fn(model, batch)
        loss.backward()
        return loss

    return closure


def run_stage(model, optimizer, steps, sample, loss_fn, after_step=lambda: None, log_every=5):
    for step in range(steps):
        closure = make_closure(model, optimizer, sample(), loss_fn)
        loss = optimizer.step(closure)
        after_step()
        if step % log_every == 0:
            print(f"  {type(optimizer).__name__} {step}: {loss.item():.5f}")


def error_on_grid(model, n=12):
    axis = torch.linspace(-1, 1, n)
    grid = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"), -1).view(-1, 3)
    model.eval()
    with torch.no_grad():
        error = (model(grid) - sphere_sdf(grid)).abs().mean()
    model.train()
    return error.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--adam_steps", type=int, default=10)
    parser.add_argument("--lbfgs_steps", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--eikonal", type=float, default=0.1)
    parser.add_argument("--points", type=int, default=128)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Siren().to(device)
    sample = partial(torch.empty(args.points, 3, device=device).uniform_, -1, 1)
    loss_fn = partial(surface_loss, eikonal_weight=args.eikonal)

    adam = torch.optim.Adam(model.parameters(), lr=args.lr)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=args.adam_steps)
    draw = lambda: sample().clone()  # noqa: E731
    run_stage(model, adam, args.adam_steps, draw, loss_fn, after_step=decay.step)
    model.cpu()
    print("after adam", error_on_grid(model))

    model.to(device)
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    run_stage(model, lbfgs, args.lbfgs_steps, draw, loss_fn)
    model.cpu()
    print("after lbfgs", error_on_grid(model))
    torch.save(model.state_dict(), "siren.pt")


if __name__ == "__main__":
    main()
