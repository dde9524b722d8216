import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ArcMargin(nn.Module):
    def __init__(self, dim, classes, scale=30.0, margin=0.3):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim)) #@
        self.scale, self.margin = scale, margin

    def forward(self, emb, y):
        cos = nn.functional.linear(nn.functional.normalize(emb), nn.functional.normalize(self.weight))
        cos = cos - self.margin * nn.functional.one_hot(y, cos.size(1))
        return nn.functional.cross_entropy(self.scale * cos, y)


class Trainer:
    def __init__(self, backbone, num_classes, dim, device="cuda"):
        self.device = device
        self.backbone = backbone.to(device)
        self.criterion = ArcMargin(dim, num_classes).to(device) #@
        self.optimizer = torch.optim.AdamW(self.backbone.parameters(), lr=1e-3) #@

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.backbone.train()
            for x, y in loader:
                x, y = x.to(self.device), y.to(self.device)
                loss = self.criterion(self.backbone(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(epoch, loss.item())


if __name__ == "__main__":
    ds = TensorDataset(torch.randn(2000, 50), torch.randint(0, 20, (2000,)))
    net = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 32))
    Trainer(net, 20, 32).fit(DataLoader(ds, batch_size=50, shuffle=True), 20)
