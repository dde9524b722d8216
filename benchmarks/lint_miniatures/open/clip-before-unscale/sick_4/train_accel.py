import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="fp16")
torch.manual_seed(0)

dataset = TensorDataset(torch.randn(2048, 32), torch.randint(0, 4, (2048,)))
train_dataloader = DataLoader(dataset, batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer, train_dataloader = accelerator.prepare(model, optimizer, train_dataloader)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    for step, (features, labels) in enumerate(train_dataloader):
        optimizer.zero_grad()
        with accelerator.autocast():
            loss = loss_fn(model(features), labels)
        accelerator.backward(loss) #@
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) #@
        optimizer.step() #@
        if step % 20 == 0:
            accelerator.print(f"{epoch}/{step}: {loss.item():.4f}")

accelerator.wait_for_everyone()
accelerator.save(accelerator.unwrap_model(model).state_dict(), "model.pt")
