import numpy as np
import torch
import torch.nn.functional as F
from skimage.metrics import peak_signal_noise_ratio
from torch import nn
from torch.utils.data import DataLoader, Dataset


class PairedImages(Dataset):
    def __init__(self, path):
        blob = np.load(path)
        self.low, self.normal = blob["low"], blob["normal"]

    def __len__(self):
        return len(self.low)

    def to_tensor(self, img):
        return torch.from_numpy(img).permute(2, 0, 1).float() / 127.5 - 1

    def __getitem__(self, i):
        return self.to_tensor(self.low[i]), self.to_tensor(self.normal[i])


class LowLight(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.LeakyReLU(0.1),
                                 nn.Conv2d(width, width, 3, padding=1), nn.LeakyReLU(0.1),
                                 nn.Conv2d(width, 3, 3, padding=1), nn.Tanh())

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    scores = []
    for low, normal in loader:
        out = model(low.to(device)).cpu().numpy()
        for a, b in zip(out, normal.numpy()):
            scores.append(peak_signal_noise_ratio(b, a, data_range=1.0))  #@
    return float(np.mean(scores))


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train = DataLoader(PairedImages("lol_train.npz"), 8, shuffle=True, num_workers=2)
    valid = DataLoader(PairedImages("lol_valid.npz"), 4, num_workers=2)
    model = LowLight().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    for epoch in range(60):
        model.train()
        for low, normal in train:
            optimizer.zero_grad()
            loss = F.l1_loss(model(low.to(device)), normal.to(device))
            loss.backward()
            optimizer.step()
        print(epoch, validate(model, valid, device))


if __name__ == "__main__":
    main()
