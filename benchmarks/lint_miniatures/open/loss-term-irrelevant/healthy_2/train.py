import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def rampup(epoch, length=20, final=1.0):
    return final * min(1.0, epoch / length)


def train(model, labeled, unlabeled, epochs=40):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        w = rampup(epoch)
        for (x, y), (u,) in zip(labeled, unlabeled):
            sup = F.cross_entropy(model(x), y)
            p1 = model(u + 0.1 * torch.randn_like(u)).softmax(1)
            p2 = model(u + 0.1 * torch.randn_like(u)).softmax(1).detach()
            loss = sup + w * F.mse_loss(p1, p2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, sup.item(), loss.item())


if __name__ == "__main__":
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
    labeled = DataLoader(TensorDataset(torch.randn(500, 20), torch.randint(0, 3, (500,))), batch_size=25, shuffle=True)
    unlabeled = DataLoader(TensorDataset(torch.randn(5000, 20)), batch_size=250, shuffle=True)
    train(net, labeled, unlabeled)
