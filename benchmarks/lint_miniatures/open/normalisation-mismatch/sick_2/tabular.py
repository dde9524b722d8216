import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load(path):
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)
    return train_test_split(table[:, :-1], table[:, -1:], test_size=0.2, random_state=0)


def to_loader(x, y, batch_size, shuffle):
    scaler = StandardScaler()
    x = scaler.fit_transform(x).astype(np.float32)  #@
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size, shuffle=shuffle)


def main():
    x_train, x_val, y_train, y_val = load("housing.csv")
    train_dl = to_loader(x_train, y_train, 64, shuffle=True)
    val_dl = to_loader(x_val, y_val, 256, shuffle=False)  #@
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
            sq = [(net(xb) - yb).square() for xb, yb in val_dl]
        print(epoch, torch.cat(sq).mean().sqrt().item())


if __name__ == "__main__":
    main()
