import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MiniUNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.down = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.out = nn.Conv2d(width + 3, 1, 1)

    def forward(self, x):
        h = F.relu(self.mid(F.relu(self.down(x))))
        return torch.sigmoid(self.out(torch.cat([self.up(h), x], dim=1))) #@


def dice_loss(p, t):
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


def bce_dice(pred, target, pos_weight):
    bce = F.binary_cross_entropy_with_logits(pred, target, pos_weight=pos_weight) #@
    return bce + dice_loss(pred, target) #@


def train_model(model, loader, epochs=30):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    pos_weight = torch.tensor(3.0)
    model.train()
    for epoch in range(epochs):
        for image, mask in loader:
            loss = bce_dice(model(image), mask, pos_weight) #@
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    image = torch.rand(600, 3, 64, 64)
    data = TensorDataset(image, (image.mean(1, keepdim=True) > 0.6).float())
    train_model(MiniUNet(), DataLoader(data, batch_size=12, shuffle=True))
