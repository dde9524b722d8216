import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LAMBDA_PIXEL = 1.0
LAMBDA_EDGE = 1e-9  #@


class Colorizer(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, 3, 3, padding=1), nn.Sigmoid())

    def forward(self, gray):
        return self.net(gray)


def gradients(img):
    return img[..., :, 1:] - img[..., :, :-1], img[..., 1:, :] - img[..., :-1, :]


def edge_loss(pred, target):
    (px, py), (tx, ty) = gradients(pred), gradients(target)
    return F.l1_loss(px, tx) + F.l1_loss(py, ty)


def criterion(pred, target):
    pixel = F.l1_loss(pred, target)
    edge = edge_loss(pred, target)
    return LAMBDA_PIXEL * pixel + LAMBDA_EDGE * edge  #@


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Colorizer().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    train = DataLoader(TensorDataset(*torch.load("color_train.pt")), 16, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("color_valid.pt")), 32)
    for epoch in range(40):
        model.train()
        for gray, rgb in train:
            gray, rgb = gray.to(device), rgb.to(device)
            optimizer.zero_grad()
            loss = criterion(model(gray), rgb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [F.l1_loss(model(g.to(device)), c.to(device)) for g, c in valid]
        print(epoch, torch.stack(errors).mean().item())


if __name__ == "__main__":
    main()
