import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator()
    torch.manual_seed(0)
    x, y = torch.randn(4400, 18), torch.randint(0, 3, (4400,))
    train_loader = DataLoader(TensorDataset(x[:4000], y[:4000]), batch_size=40, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[4000:], y[4000:]), batch_size=40)
    model = nn.Sequential(nn.Linear(18, 54), nn.ReLU(), nn.Linear(54, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    for epoch in range(5):
        model.train()
        for xb, yb in train_loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.is_main_process: #@
            model.eval()
            hits, n = 0, 0
            with torch.no_grad():
                for xb, yb in val_loader: #@
                    pred, ref = accelerator.gather_for_metrics((model(xb).argmax(-1), yb)) #@
                    hits = hits + (pred == ref).sum()
                    n += ref.numel()
            print(epoch, hits.item() / n)


if __name__ == "__main__":
    main()
