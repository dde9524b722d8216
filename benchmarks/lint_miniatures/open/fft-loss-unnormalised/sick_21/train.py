import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeblurNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Sequential(*[
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU()) for _ in range(6)])
        self.tail = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        return x + self.tail(self.body(self.head(x)))


def frequency_loss(restored, sharp):
    a = torch.fft.fft2(restored)  #@
    b = torch.fft.fft2(sharp)  #@
    return F.mse_loss(torch.view_as_real(a), torch.view_as_real(b))  #@


def psnr(model, loader, device):
    model.eval()
    values = []
    with torch.no_grad():
        for blur, sharp in loader:
            out = model(blur.to(device)).clamp(0, 1)
            mse = ((out - sharp.to(device)) ** 2).mean((1, 2, 3))
            values.append(-10 * torch.log10(mse + 1e-8))
    return torch.cat(values).mean().item()


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = DeblurNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    train = DataLoader(TensorDataset(*torch.load("gopro_train.pt")), 8, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("gopro_valid.pt")), 4)
    for epoch in range(100):
        model.train()
        for blur, sharp in train:
            blur, sharp = blur.to(device), sharp.to(device)
            restored = model(blur)
            loss = F.l1_loss(restored, sharp) + 0.1 * frequency_loss(restored, sharp)  #@
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, psnr(model, valid, device))


if __name__ == "__main__":
    main()
