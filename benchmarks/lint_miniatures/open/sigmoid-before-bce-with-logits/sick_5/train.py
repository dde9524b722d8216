import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, inputs, targets):
        inputs = torch.sigmoid(inputs) #@
        bce = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none") #@
        p_t = torch.exp(-bce)
        a_t = self.alpha * targets + (1 - self.alpha) * (1 - targets)
        return (a_t * (1 - p_t) ** self.gamma * bce).mean()


def main():
    accelerator = Accelerator()
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    criterion = FocalLoss() #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(6000, 16)
    y = (x.sum(1, keepdim=True) > 4).float()
    loader = DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(20):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets) #@
            accelerator.backward(loss)
            optimizer.step()
        accelerator.print(epoch, loss.item())


if __name__ == "__main__":
    main()
