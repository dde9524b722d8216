from torch import nn


class Res1d(nn.Module):
    def __init__(self, cin, cout, p):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv1d(cin, cout, 7, stride=2, padding=3, bias=False), nn.BatchNorm1d(cout), nn.ReLU(), nn.Dropout(p),
            nn.Conv1d(cout, cout, 7, padding=3, bias=False), nn.BatchNorm1d(cout),
        )
        self.skip = nn.Conv1d(cin, cout, 1, stride=2)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.main(x) + self.skip(x))


class ECGNet(nn.Module):
    def __init__(self, leads, classes, width, depth, dropout):
        super().__init__()
        dims = [width * 2**i for i in range(depth)]
        self.stem = nn.Conv1d(leads, width, 15, padding=7)
        self.blocks = nn.ModuleList([Res1d(a, b, dropout) for a, b in zip([width] + dims[:-1], dims)])
        self.head = nn.Linear(dims[-1], classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(-1))


def param_groups(model, weight_decay):
    """No decay for biases and norms."""
    decay, plain = [], []
    for p in model.parameters():
        (plain if p.ndim <= 1 else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
