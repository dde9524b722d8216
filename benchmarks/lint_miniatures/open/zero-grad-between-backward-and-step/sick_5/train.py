import contextlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@contextlib.contextmanager
def fresh_grads(module): #@
    module.zero_grad() #@
    yield


def main():
    cfg = {"lr": 5e-3, "epochs": 12, "batch_size": 20}
    data = TensorDataset(torch.randn(400, 7), torch.randint(0, 2, (400,)).float())
    loader = DataLoader(data, batch_size=cfg["batch_size"], shuffle=True)
    model = nn.Sequential(nn.Linear(7, 21), nn.ReLU(), nn.Linear(21, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg["lr"])
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(cfg["epochs"]):
        model.train()
        for x, y in loader:
            loss = criterion(model(x).squeeze(1), y)
            loss.backward() #@
            with fresh_grads(model): #@
                optimizer.step() #@
        print("epoch", epoch, "loss", float(loss))


if __name__ == "__main__":
    main()
