import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SimSiam(nn.Module):
    def __init__(self, inputs=512, dim=256):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, 512), nn.BatchNorm1d(512), nn.ReLU(),
                                     nn.Linear(512, dim))
        self.predictor = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.predictor(za), self.predictor(zb), za.detach(), zb.detach()


def orthogonality(weight):
    w = F.normalize(weight, dim=1)
    gram = w @ w.T
    return (gram - torch.eye(len(w), device=w.device)).abs().mean()


def similarity(p, z):
    return F.cosine_similarity(p, z, dim=-1).mean()


def objective(model, a, b):
    pa, pb, za, zb = model(a, b)
    return -0.5 * (similarity(pa, zb) + similarity(pb, za))


def main():
    set_seed(0)
    accelerator = Accelerator()
    model = SimSiam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    train = DataLoader(TensorDataset(*torch.load("views_train.pt")), 256, shuffle=True, drop_last=True)
    valid = DataLoader(TensorDataset(*torch.load("views_valid.pt")), 256)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    for epoch in range(100):
        model.train()
        for a, b in train:
            optimizer.zero_grad()
            predictor = accelerator.unwrap_model(model).predictor[0]
            loss = objective(model, a, b) + 0.1 * orthogonality(predictor.weight)
            accelerator.backward(loss)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            scores = [accelerator.gather(objective(model, a, b)).mean() for a, b in valid]
        accelerator.print(epoch, torch.stack(scores).mean().item())


if __name__ == "__main__":
    main()
