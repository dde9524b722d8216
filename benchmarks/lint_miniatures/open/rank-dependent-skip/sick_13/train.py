import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@torch.no_grad()
def evaluate(accelerator, model, loader):
    model.eval()
    hits, seen = 0, 0
    for x, y in loader:
        pred, ref = accelerator.gather_for_metrics((model(x).argmax(-1), y)) #@
        hits += (pred == ref).sum()
        seen += len(ref)
    model.train()
    return hits.item() / seen


def main():
    accelerator = Accelerator()
    model = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 7))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(8000, 48), torch.randint(0, 7, (8000,))
    train = DataLoader(TensorDataset(x[:7000], y[:7000]), batch_size=32, shuffle=True)
    val = DataLoader(TensorDataset(x[7000:], y[7000:]), batch_size=100)
    model, optimizer, train, val = accelerator.prepare(model, optimizer, train, val)
    model.train()
    for epoch in range(10):
        for xb, yb in train:
            loss = nn.functional.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        if accelerator.is_main_process: #@
            acc = evaluate(accelerator, model, val) #@
            print(f"epoch {epoch}: {acc:.4f}")
    accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
