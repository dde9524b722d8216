import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    with open("config.yaml") as f:
        cfg = yaml.safe_load(f)
    accum = cfg["train"]["accumulate_grad_batches"] #@
    ds = TensorDataset(torch.randn(2000, 16), torch.randn(2000, 16))
    loader = DataLoader(ds, batch_size=cfg["train"]["batch_size"], shuffle=True)
    print(f"effective batch size: {cfg['train']['batch_size'] * accum}") #@
    model = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["optim"]["lr"])
    for epoch in range(cfg["train"]["epochs"]):
        model.train()
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad() #@
            loss.backward() #@
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step() #@
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
