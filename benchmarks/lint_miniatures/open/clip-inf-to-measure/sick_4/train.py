import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Monitor:
    def __init__(self, accelerator, model, every=20):
        self.accelerator, self.model, self.every = accelerator, model, every
        self.step = 0

    def after_backward(self, loss):
        self.step += 1
        total = self.accelerator.clip_grad_norm_(self.model.parameters(), torch.inf) #@
        if self.step % self.every == 0:
            self.accelerator.print(f"{self.step}: loss={loss.item():.4f} |g|={total.item():.3f}")


def main():
    accelerator = Accelerator(mixed_precision="bf16")
    model = nn.Sequential(nn.Linear(32, 256), nn.GELU(), nn.Linear(256, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    data = TensorDataset(torch.randn(5000, 32), torch.randint(0, 4, (5000,)))
    loader = DataLoader(data, batch_size=128, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    monitor = Monitor(accelerator, model)
    for _ in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            monitor.after_backward(loss) #@
            optimizer.step()


if __name__ == "__main__":
    main()
