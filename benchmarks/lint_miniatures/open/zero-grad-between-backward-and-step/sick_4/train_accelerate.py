import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    accelerator = Accelerator(gradient_accumulation_steps=4)
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(2000, 24), torch.randn(2000, 24))
    loader = DataLoader(dataset, batch_size=25, shuffle=True)
    model = nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 24))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, weight_decay=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for epoch in range(6):
        model.train()
        for step, (src, tgt) in enumerate(loader):
            with accelerator.accumulate(model):
                pred = model(src)
                loss = nn.functional.mse_loss(pred, tgt)
                accelerator.backward(loss) #@
                optimizer.zero_grad() #@
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step() #@
            if step % 40 == 0:
                accelerator.print(f"epoch {epoch} step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
