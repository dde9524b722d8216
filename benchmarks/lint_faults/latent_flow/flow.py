"""Rectified flow: the straight path from noise (t=0) to data (t=1)."""
import torch
from torch import Tensor


def interpolate(data: Tensor, noise: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """The point at time t, and the velocity there."""
    t = t.view(-1, 1, 1, 1)
    x_t = (1 - t) * noise + t * data
    velocity = data - noise
    return x_t, velocity


def flow_loss(net, data: Tensor, labels: Tensor, t: Tensor, noise: Tensor) -> Tensor:
    x_t, target = interpolate(data, noise, t)
    pred = net(x_t, t, labels)
    return (pred.float() - target).square().mean()


@torch.no_grad()
def sample(net, labels: Tensor, shape: tuple[int, ...], steps: int, guidance: float, null: int) -> Tensor:
    x = torch.randn(labels.shape[0], *shape, device=labels.device)
    empty = torch.full_like(labels, null)
    dt = 1.0 / steps
    for i in range(steps):
        t = torch.full((x.shape[0],), i * dt, device=x.device)
        v_cond, v_null = net(x, t, labels), net(x, t, empty)
        v = v_null + guidance * (v_cond - v_null)
        x = x + v.float() * dt
    return x
