import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from layers import Generator


def main():
    accelerator = Accelerator(mixed_precision="fp16")  #@
    set_seed(0)
    model = Generator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.5, 0.99))
    train = DataLoader(TensorDataset(*torch.load("styles_train.pt")), 8, shuffle=True)
    valid = DataLoader(TensorDataset(*torch.load("styles_valid.pt")), 8)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    for epoch in range(30):
        model.train()
        for content, code, target in train:
            optimizer.zero_grad()
            loss = F.l1_loss(model(content, code), target)
            accelerator.backward(loss)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            errors = [accelerator.gather_for_metrics((model(c, w) - t).abs().mean((1, 2, 3)))
                      for c, w, t in valid]
        accelerator.print(epoch, torch.cat(errors).mean().item())


if __name__ == "__main__":
    main()
