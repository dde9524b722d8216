import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=2e-4, clip=1.0):
        self.model = model.cuda()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.clip = clip

    def step(self, x, y):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(x), y)
        self.opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.opt.step()
        return loss.detach()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.step(x.cuda(), y.cuda()) for x, y in loader]
            print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(5000, 50), torch.randint(0, 12, (5000,)))
    Trainer(nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 12))).fit(
        DataLoader(ds, batch_size=100, shuffle=True), 8
    )
