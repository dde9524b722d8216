import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, dataset, batch_size=64, accum_steps=1, num_epochs=10): #@
        self.model = model
        self.batch_size = batch_size
        self.num_epochs = num_epochs
        self.accum_steps = accum_steps #@
        self.loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self._setup()

    def _setup(self):
        self.step = 0
        self.accum_steps = 1 #@

    def fit(self):
        self.model.train()
        for epoch in range(self.num_epochs):
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.model(x), y) / self.accum_steps #@
                loss.backward()
                self.step += 1
                if self.step % self.accum_steps == 0: #@
                    self.optimizer.step()
                    self.optimizer.zero_grad()
            print(f"epoch {epoch} step {self.step}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--accum-steps", type=int, default=4) #@
    p.add_argument("--batch-size", type=int, default=16)
    a = p.parse_args()
    data = TensorDataset(torch.randn(3200, 30), torch.randint(0, 3, (3200,)))
    Trainer(nn.Linear(30, 3), data, a.batch_size, a.accum_steps).fit() #@


if __name__ == "__main__":
    main()
