import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class HeteroscedasticNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.ReLU())
        self.mean = nn.Linear(64, 1)
        self.log_var = nn.Linear(64, 1) #@

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h) #@


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.criterion = nn.GaussianNLLLoss() #@
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, loader, epochs):
        self.model.train()
        for epoch in range(epochs):
            for x, y in loader:
                mean, log_var = self.model(x)
                loss = self.criterion(mean, y, log_var.abs()) #@
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, loss.item())

    @torch.no_grad()
    def interval(self, x):
        self.model.eval()
        mean, log_var = self.model(x)
        std = (0.5 * log_var).exp() #@
        return mean - 1.96 * std, mean + 1.96 * std


x = torch.randn(5000, 8)
data = TensorDataset(x[:4900], x[:4900, :1] + x[:4900, 1:2].abs() * torch.randn(4900, 1))
trainer = Trainer(HeteroscedasticNet())
trainer.fit(DataLoader(data, batch_size=50, shuffle=True), 40)
print(trainer.interval(x[4900:]))
