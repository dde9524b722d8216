import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(gradient_accumulation_steps=4) #@
    model = nn.Sequential(nn.Embedding(5000, 64), nn.Flatten(), nn.Linear(64 * 16, 20))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randint(0, 5000, (8000, 16)), torch.randint(0, 20, (8000,)))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    model.train()
    for epoch in range(5):
        for step, (ids, y) in enumerate(loader): #@
            loss = nn.functional.cross_entropy(model(ids), y)
            optimizer.zero_grad() #@
            accelerator.backward(loss) #@
            optimizer.step() #@
            if step % 50 == 0:
                accelerator.print(epoch, step, loss.item())
    accelerator.save_model(model, "out")


if __name__ == "__main__":
    main()
