import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr, accum):
        self.model = model
        self.accum = accum
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)

    def _apply_gradients(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            n = len(loader) // self.accum * self.accum
            for i, (x, y) in enumerate(loader):
                if i >= n:
                    break
                loss = nn.functional.mse_loss(self.model(x), y)
                (loss / self.accum).backward()
                if (i + 1) % self.accum == 0:
                    self._apply_gradients()
            print(epoch, loss.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(640, 6), torch.randn(640, 1))
    net = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 1))
    Trainer(net, 1e-3, 4).fit(DataLoader(ds, batch_size=16, shuffle=True), 5)
