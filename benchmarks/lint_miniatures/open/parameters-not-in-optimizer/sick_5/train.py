import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build(cfg):
    model = nn.Sequential()
    model.add_module("embed", nn.Linear(30, cfg["hidden"]))
    model.add_module("act", nn.ReLU())
    model.add_module("head", nn.Linear(cfg["hidden"], 1000))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"]) #@
    return model, optimizer


def replace_head(model, num_classes): #@
    model.head = nn.Linear(model.head.in_features, num_classes) #@
    return model


def main():
    cfg = {"hidden": 64, "lr": 3e-4, "classes": 7, "epochs": 10}
    loader = DataLoader(TensorDataset(torch.randn(1400, 30), torch.randint(0, 7, (1400,))), batch_size=35, shuffle=True)
    model, optimizer = build(cfg) #@
    model.load_state_dict(torch.load("pretrained.pt"))
    model = replace_head(model, cfg["classes"]) #@
    for epoch in range(cfg["epochs"]):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
