import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from amp import AmpHelper


class Trainer:
    def __init__(self, model, dataset, lr=1e-3):
        self.model = model.cuda()
        self.loader = DataLoader(dataset, batch_size=64, shuffle=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.amp = AmpHelper(enabled=True) #@

    def fit(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            for x, y in self.loader:
                with self.amp.forward(): #@
                    loss = nn.functional.smooth_l1_loss(self.model(x.cuda()), y.cuda())
                self.amp.backward_and_step(loss, self.optimizer) #@
            print(epoch, loss.item())


net = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 1))
Trainer(net, TensorDataset(torch.randn(4000, 10), torch.randn(4000, 1))).fit(25)
