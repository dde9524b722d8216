import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

from model import ChessLM


def main():
    accelerator = Accelerator(mixed_precision="fp16")  #@
    torch.manual_seed(6)
    model = ChessLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train = DataLoader(TensorDataset(torch.load("games_train.pt")), 64, shuffle=True)
    valid = DataLoader(TensorDataset(torch.load("games_valid.pt")), 64)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)

    def nll(ids):
        logits = model(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    for epoch in range(4):
        model.train()
        for (ids,) in train:
            optimizer.zero_grad()
            accelerator.backward(nll(ids))
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            losses = [accelerator.gather(nll(ids)) for (ids,) in valid]
        accelerator.print(epoch, torch.stack(losses).mean().item())


if __name__ == "__main__":
    main()
