import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda().to(torch.bfloat16)
masters = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
optimizer = torch.optim.AdamW(masters, lr=1e-4)
x = torch.randn(20000, 256)
loader = DataLoader(TensorDataset(x, x.flip(1)), batch_size=128, shuffle=True)


def copy_grads():
    for m, p in zip(masters, model.parameters()):
        m.grad = p.grad.float()


@torch.no_grad()
def copy_weights():
    for m, p in zip(masters, model.parameters()):
        p.copy_(m)


model.train()
for epoch in range(20):
    for inp, target in loader:
        model.zero_grad(set_to_none=True)
        out = model(inp.to("cuda", torch.bfloat16))
        nn.functional.mse_loss(out.float(), target.cuda()).backward()
        copy_grads()
        optimizer.step()
        copy_weights()
