import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from schedules import warmup_cosine

EPOCHS, WARMUP, PATH = 90, 5, "runs/depth/last.pt"


def main():
    torch.manual_seed(0)
    accelerator = Accelerator()
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
                          nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 1, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    train = DataLoader(TensorDataset(*torch.load("depth_train.pt")), 16, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("depth_valid.pt")), 16)
    start_epoch, global_step = 0, 0
    if os.path.exists(PATH):
        state = torch.load(PATH, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start_epoch, global_step = state["epoch"] + 1, state["global_step"]
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    scheduler = warmup_cosine(optimizer, WARMUP, EPOCHS, last_epoch=global_step - 1)  #@
    for epoch in range(start_epoch, EPOCHS):
        model.train()
        for image, depth in train:
            optimizer.zero_grad()
            accelerator.backward(F.l1_loss(model(image), depth))
            optimizer.step()
            global_step += 1  #@
        scheduler.step()  #@
        model.eval()
        with torch.no_grad():
            errors = [accelerator.gather_for_metrics((model(i) - d).abs().mean((1, 2, 3))) for i, d in valid]
        accelerator.print(epoch, torch.cat(errors).mean().item())
        if accelerator.is_main_process:
            os.makedirs(os.path.dirname(PATH), exist_ok=True)
            torch.save({"model": accelerator.unwrap_model(model).state_dict(), "epoch": epoch,
                        "optimizer": optimizer.state_dict(), "global_step": global_step}, PATH)


if __name__ == "__main__":
    main()
