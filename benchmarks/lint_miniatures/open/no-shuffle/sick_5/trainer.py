import torch
from torch import nn


def batches(x, y, size):  #@
    for i in range(0, len(x), size):  #@
        yield x[i:i + size], y[i:i + size]


class MLPTrainer:
    def __init__(self, in_dim, classes, lr=1e-3, batch_size=128):
        self.net = nn.Sequential(nn.Linear(in_dim, 100), nn.ReLU(), nn.Linear(100, classes))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss()
        self.batch_size = batch_size

    def fit(self, x, y, x_val, y_val, epochs):
        for epoch in range(epochs):
            self.net.train()
            for xb, yb in batches(x, y, self.batch_size):  #@
                self.opt.zero_grad()
                self.loss(self.net(xb), yb).backward()
                self.opt.step()
            print(epoch, self.score(x_val, y_val))

    @torch.no_grad()
    def score(self, x, y):
        self.net.eval()
        hits = [(self.net(xb).argmax(1) == yb) for xb, yb in batches(x, y, 512)]
        return torch.cat(hits).float().mean().item()


if __name__ == "__main__":
    y = torch.arange(8).repeat_interleave(500)
    x = torch.randn(4000, 20) + y[:, None]
    x_val, y_val = torch.randn(400, 20), torch.randint(0, 8, (400,))
    MLPTrainer(20, 8).fit(x, y, x_val + y_val[:, None], y_val, epochs=15)
