import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ClippedAdamW(torch.optim.AdamW):
    def __init__(self, params, lr, max_norm):
        super().__init__(params, lr=lr)
        self.max_norm = max_norm

    def step(self, closure=None):
        params = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        nn.utils.clip_grad_norm_(params, self.max_norm)
        return super().step(closure)


def main():
    loader = DataLoader(TensorDataset(torch.randn(2000, 11), torch.randn(2000, 1)), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(11, 44), nn.ReLU(), nn.Linear(44, 1))
    optimizer = ClippedAdamW(model.parameters(), lr=1e-3, max_norm=1.0)
    for epoch in range(10):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
