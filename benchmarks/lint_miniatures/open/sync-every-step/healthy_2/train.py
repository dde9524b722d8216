import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MetricLogger:
    def __init__(self, every):
        self.every, self.buffer, self.step = every, [], 0

    def update(self, loss):
        self.buffer.append(loss.detach())
        self.step += 1
        if self.step % self.every == 0:
            self.flush()

    def flush(self):
        if self.buffer:
            print(self.step, torch.stack(self.buffer).mean().item())
            self.buffer.clear()


def main():
    loader = DataLoader(TensorDataset(torch.randn(9000, 16), torch.randn(9000, 1)), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    logger = MetricLogger(every=100)
    for epoch in range(5):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            logger.update(loss)
        logger.flush()


if __name__ == "__main__":
    main()
