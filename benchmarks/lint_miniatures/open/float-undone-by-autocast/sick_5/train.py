import torch
import torch.nn as nn
from lightning.fabric import Fabric
from torch.utils.data import DataLoader, TensorDataset


class Router(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))

    def forward(self, x):
        logits = self.gate(x.type(torch.float32)) #@
        weights, index = logits.softmax(-1).topk(2, dim=-1)
        outputs = torch.stack([e(x) for e in self.experts], dim=1)
        picked = outputs.gather(1, index.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        return x + (weights.unsqueeze(-1) * picked).sum(1)


def run():
    fabric = Fabric(accelerator="cuda", devices=1, precision="bf16-mixed") #@
    fabric.launch()
    model = nn.Sequential(nn.Linear(20, 128), Router(128, 8), nn.Linear(128, 3)) #@
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimizer = fabric.setup(model, optimizer)
    dataset = TensorDataset(torch.randn(9000, 20), torch.randint(0, 3, (9000,)))
    loader = fabric.setup_dataloaders(DataLoader(dataset, batch_size=256, shuffle=True))
    for epoch in range(20):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            fabric.backward(loss)
            optimizer.step()
        fabric.print(epoch, loss.item())


if __name__ == "__main__":
    run()
