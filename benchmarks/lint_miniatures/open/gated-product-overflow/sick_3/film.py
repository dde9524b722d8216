import torch.nn as nn


class Modulation(nn.Module):
    def __init__(self, cond_dim, channels):
        super().__init__()
        self.to_params = nn.Linear(cond_dim, channels * 2)

    def forward(self, x, cond):
        gamma, beta = self.to_params(cond)[..., None, None].chunk(2, dim=1)
        return gamma.mul(x) + beta #@


class ModulatedConv(nn.Module):
    def __init__(self, channels, cond_dim):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.mod = Modulation(cond_dim, channels) #@

    def forward(self, x, cond):
        return x + self.mod(self.conv(x), cond).relu() #@
