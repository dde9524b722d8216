import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(gradient_accumulation_steps=8, mixed_precision="bf16") #@
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(4096, 40), torch.randint(0, 10, (4096,)))
    train_loader = DataLoader(dataset, batch_size=8, shuffle=True)
    model = nn.Sequential(nn.Linear(40, 160), nn.GELU(), nn.Linear(160, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, train_loader = accelerator.prepare(model, optimizer, train_loader)

    for epoch in range(3):
        model.train()
        for x, y in train_loader: #@
            logits = model(x)
            loss = nn.functional.cross_entropy(logits, y)
            accelerator.backward(loss) #@
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step() #@
            optimizer.zero_grad() #@
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
