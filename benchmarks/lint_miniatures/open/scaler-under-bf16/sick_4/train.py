import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

from precision import PrecisionConfig, make_precision


class SineWaves(Dataset):
    def __len__(self):
        return 5000

    def __getitem__(self, index):
        phase = torch.rand(1) * 6.28
        t = torch.linspace(0, 6.28, 51)
        wave = torch.sin(t + phase)
        return wave[:-1, None], wave[1:, None]


class Forecaster(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def fit(epochs=10):
    autocast, scaler = make_precision(PrecisionConfig()) #@
    model = Forecaster().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(SineWaves(), batch_size=64, shuffle=True)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with autocast: #@
                loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            scaler.scale(loss).backward() #@
            scaler.step(optimizer) #@
            scaler.update()
        print(epoch, loss.item())


fit()
