import torch
import torch.nn as nn


class GaussianHead(nn.Module):
    def __init__(self, features=10, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, 1)
        self.log_var = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), torch.clamp(self.log_var(h), -8, 8) #@
