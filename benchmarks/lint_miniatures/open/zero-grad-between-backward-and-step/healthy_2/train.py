import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    loader = DataLoader(TensorDataset(torch.randn(512, 4), torch.randn(512, 1)), batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    criterion = nn.MSELoss()

    for epoch in range(10):
        model.train()
        for x, y in loader:

            def closure():
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                return loss

            loss = optimizer.step(closure)
        print(f"epoch {epoch}: {loss.item():.5f}")

    torch.save(model.state_dict(), "lbfgs.pt")


if __name__ == "__main__":
    main()
