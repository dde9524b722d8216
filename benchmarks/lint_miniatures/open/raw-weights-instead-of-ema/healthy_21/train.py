import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset


class Critic(nn.Module):
    def __init__(self, dim=48, width=256):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.LayerNorm(width), nn.Mish(),
                                 nn.Linear(width, width), nn.Mish(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def rmse(accelerator, model, loader):
    model.eval()
    errors = []
    with torch.no_grad():
        for x, y in loader:
            errors.append(accelerator.gather_for_metrics((model(x) - y).square()))
    return torch.cat(errors).mean().sqrt().item()


def main():
    set_seed(0)
    accelerator = Accelerator()
    model = Critic()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("returns_train.pt")), 256, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("returns_valid.pt")), 512)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    ema = AveragedModel(accelerator.unwrap_model(model), multi_avg_fn=get_ema_multi_avg_fn(0.998))
    best = float("inf")
    for epoch in range(40):
        model.train()
        for x, y in train:
            optimizer.zero_grad()
            accelerator.backward(F.mse_loss(model(x), y))
            optimizer.step()
            ema.update_parameters(accelerator.unwrap_model(model))
        raw_score = rmse(accelerator, model, valid)
        ema_score = rmse(accelerator, ema, valid)
        accelerator.print(f"{epoch} raw {raw_score:.4f} ema {ema_score:.4f}")
        if ema_score < best:
            best = ema_score
            accelerator.save(ema.module.state_dict(), "critic_ema_best.pt")


if __name__ == "__main__":
    main()
