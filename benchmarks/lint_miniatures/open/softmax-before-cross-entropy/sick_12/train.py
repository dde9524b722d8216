import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "softmax": lambda: nn.Softmax(dim=-1), "none": nn.Identity}
CONFIG = {"sizes": [30, 64, 64, 7], "hidden": "tanh", "output": "softmax", "lr": 1e-3, "epochs": 40} #@


def mlp(sizes, hidden, output):
    layers = []
    for i, (n_in, n_out) in enumerate(zip(sizes, sizes[1:])):
        act = hidden if i < len(sizes) - 2 else output
        layers += [nn.Linear(n_in, n_out), ACTIVATIONS[act]()] #@
    return nn.Sequential(*layers)


def train(cfg, loader):
    model = mlp(cfg["sizes"], cfg["hidden"], cfg["output"]) #@
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05) #@
    model.train()
    for _ in range(cfg["epochs"]):
        for features, label in loader:
            optimizer.zero_grad()
            loss_fn(model(features), label).backward() #@
            optimizer.step()
    return model


if __name__ == "__main__":
    data = TensorDataset(torch.randn(3500, 30), torch.randint(0, 7, (3500,)))
    model = train(CONFIG, DataLoader(data, batch_size=35, shuffle=True))
    torch.save(model.state_dict(), "mlp.pt")
