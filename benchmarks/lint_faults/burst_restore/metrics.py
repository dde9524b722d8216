import torch


class AverageMeter:
    """Keeps the sum on the device; reading `avg` is what synchronises."""

    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value: torch.Tensor, n: int = 1) -> None:
        self.total = self.total + value.detach() * n
        self.count += n

    @property
    def avg(self) -> float:
        return float(self.total) / max(1, self.count)


def psnr(pred: torch.Tensor, target: torch.Tensor, data_range: float = 1.0) -> torch.Tensor:
    """One value per image."""
    mse = ((pred - target) ** 2).flatten(1).mean(1)
    return 10 * torch.log10(data_range**2 / mse.clamp(min=1e-10))
