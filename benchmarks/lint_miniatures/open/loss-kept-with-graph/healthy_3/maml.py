import torch
from torch import nn
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

tasks = DataLoader(TensorDataset(torch.randn(400, 20, 4), torch.randn(400, 20, 1)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inner_lr = 0.01
mse = nn.functional.mse_loss

for epoch in range(10):
    model.train()
    for xs, ys in tasks:
        losses = []
        for x, y in zip(xs, ys):
            params = dict(model.named_parameters())
            inner = mse(functional_call(model, params, (x[:10],)), y[:10])
            grads = torch.autograd.grad(inner, list(params.values()), create_graph=True)
            fast = {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}
            losses.append(mse(functional_call(model, fast, (x[10:],)), y[10:]))
        meta_loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        meta_loss.backward()
        optimizer.step()
    print(epoch, meta_loss.item())
