import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    fabric = L.Fabric(accelerator="auto", devices=1)
    fabric.launch()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 100), nn.ReLU(), nn.Linear(100, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    dataset = TensorDataset(torch.randn(3200, 20), torch.randn(3200, 1))
    loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=64, shuffle=True))

    for epoch in range(8):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            fabric.backward(loss) #@
            optimizer.step() #@
            fabric.clip_gradients(model, optimizer, max_norm=0.5) #@
        fabric.print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
