import time
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {"lr": 0.05, "epochs": 10, "batch_size": 100}


@contextmanager
def timer(store, key): #@
    torch.cuda.synchronize() #@
    start = time.perf_counter()
    yield
    torch.cuda.synchronize() #@
    store[key] = store.get(key, 0.0) + time.perf_counter() - start


def main():
    ds = TensorDataset(torch.randn(20000, 40), torch.randint(0, 5, (20000,)))
    loader = DataLoader(ds, batch_size=CONFIG["batch_size"], shuffle=True, pin_memory=True)
    model = nn.Sequential(nn.Linear(40, 160), nn.ReLU(), nn.Linear(160, 5)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"], momentum=0.9)
    for epoch in range(CONFIG["epochs"]):
        model.train()
        times = {}
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            optimizer.zero_grad()
            with timer(times, "forward"): #@
                loss = nn.functional.cross_entropy(model(x), y)
            with timer(times, "backward"): #@
                loss.backward()
            optimizer.step()
        print(epoch, times, loss.item())


if __name__ == "__main__":
    main()
