import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def tensors(x, y):
    return TensorDataset(torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y.astype(np.float32)))


def main():
    table = np.loadtxt("housing.csv", delimiter=",", skiprows=1)
    x_train, x_val, y_train, y_val = train_test_split(table[:, :-1], table[:, -1:], test_size=0.2, random_state=0)
    xs, ys = StandardScaler().fit(x_train), StandardScaler().fit(y_train)
    train_dl = DataLoader(tensors(xs.transform(x_train), ys.transform(y_train)), 64, shuffle=True)
    val_dl = DataLoader(tensors(xs.transform(x_val), y_val), 256)
    scale, shift = float(ys.scale_[0]), float(ys.mean_[0])
    net = nn.Sequential(nn.Linear(x_train.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(100):
        net.train()
        for xb, yb in train_dl:
            opt.zero_grad()
            nn.functional.mse_loss(net(xb), yb).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            sq = [(net(xb) * scale + shift - yb).square() for xb, yb in val_dl]
        print(epoch, torch.cat(sq).mean().sqrt().item())


if __name__ == "__main__":
    main()
