import deepspeed
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class LayerNorm2d(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, 1, 1))
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(1, keepdim=True) #@
        var = (x - mu).pow(2).mean(1, keepdim=True) #@
        x = (x - mu) / torch.sqrt(var + self.eps) #@
        return self.weight * x + self.bias


model = nn.Sequential(
    nn.Conv2d(3, 64, 3, padding=1), LayerNorm2d(64), nn.GELU(), #@
    nn.Conv2d(64, 64, 3, padding=1), LayerNorm2d(64), nn.GELU(), nn.Conv2d(64, 3, 3, padding=1), #@
)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds_config.json") #@
data = TensorDataset(torch.rand(2000, 3, 64, 64))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=16, sampler=sampler)
engine.train()
for epoch in range(20):
    sampler.set_epoch(epoch)
    for (x,) in loader:
        x = x.to(engine.device)
        out = engine((x + 0.1 * torch.randn_like(x)).half()) #@
        loss = nn.functional.l1_loss(out.float(), x)
        engine.backward(loss)
        engine.step()
