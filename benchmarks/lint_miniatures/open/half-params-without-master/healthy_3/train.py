import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MasterOptimizer:
    def __init__(self, model, lr):
        self.working = list(model.parameters())
        self.master = [nn.Parameter(p.detach().float().clone()) for p in self.working]
        self.inner = torch.optim.AdamW(self.master, lr=lr)

    def zero_grad(self):
        for p in self.working:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for m, p in zip(self.master, self.working):
            m.grad = p.grad.float()
        self.inner.step()
        for m, p in zip(self.master, self.working):
            p.copy_(m)


model = nn.Sequential(nn.Linear(20, 512), nn.SiLU(), nn.Linear(512, 1)).cuda()
model = model.to(torch.bfloat16)
optimizer = MasterOptimizer(model, lr=2e-4)
loader = DataLoader(TensorDataset(torch.randn(9000, 20), torch.randn(9000, 1)), batch_size=128, shuffle=True)
for epoch in range(20):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x.cuda().bfloat16()).float(), y.cuda())
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
