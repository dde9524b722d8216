import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MultiBranch(nn.Module):
    def __init__(self, dim, n_branches, classes):
        super().__init__()
        self.branches = [nn.Linear(dim, 16) for _ in range(n_branches)] #@
        self.out = nn.Linear(16 * n_branches, classes)

    def forward(self, x):
        feats = [torch.relu(b(x)) for b in self.branches] #@
        return self.out(torch.cat(feats, dim=1))


def main():
    loader = DataLoader(TensorDataset(torch.randn(1200, 10), torch.randint(0, 3, (1200,))), batch_size=40, shuffle=True)
    model = MultiBranch(10, 4, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3) #@
    for epoch in range(10):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
