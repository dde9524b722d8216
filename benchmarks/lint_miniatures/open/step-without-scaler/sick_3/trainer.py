import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BaseTrainer:
    def __init__(self, model, lr):
        self.model = model.cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def backward(self, loss):
        loss.backward()

    def step(self): #@
        self.optimizer.step() #@
        self.optimizer.zero_grad()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in loader:
                loss = self.forward_loss(x.cuda(), y.cuda())
                self.backward(loss)
                self.step() #@
            print(epoch, loss.item())


class AmpTrainer(BaseTrainer): #@
    def __init__(self, model, lr):
        super().__init__(model, lr)
        self.scaler = torch.amp.GradScaler("cuda") #@

    def forward_loss(self, x, y):
        with torch.autocast("cuda", dtype=torch.float16):
            return nn.functional.cross_entropy(self.model(x), y)

    def backward(self, loss):
        self.scaler.scale(loss).backward() #@


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(1280, 33), torch.randint(0, 6, (1280,)))
    net = nn.Sequential(nn.Linear(33, 66), nn.ReLU(), nn.Linear(66, 6))
    AmpTrainer(net, 1e-3).fit(DataLoader(ds, batch_size=64, shuffle=True), 10)
