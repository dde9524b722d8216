import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FrequencyTerm:
    def __init__(self, size):
        self.n = size[0] * size[1]

    def spectrum(self, x):
        return torch.fft.fft2(x) / self.n #@

    def __call__(self, a, b):
        return (self.spectrum(a) - self.spectrum(b)).abs().square().mean() #@


class Trainer:
    def __init__(self, net, dataset, size):
        self.net = net
        self.loader = DataLoader(dataset, batch_size=8, shuffle=True)
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-4)
        self.freq = FrequencyTerm(size) #@

    def loss(self, pred, target):
        return F.mse_loss(pred, target) + 0.1 * self.freq(pred, target) #@

    def fit(self, epochs):
        self.net.train()
        for epoch in range(epochs):
            for x, y in self.loader:
                loss = self.loss(self.net(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())


y = torch.rand(160, 1, 200, 200)
net = nn.Sequential(nn.Conv2d(1, 24, 7, padding=3), nn.ReLU(), nn.Conv2d(24, 1, 7, padding=3))
Trainer(net, TensorDataset(F.avg_pool2d(y, 5, 1, 2), y), (200, 200)).fit(50)
