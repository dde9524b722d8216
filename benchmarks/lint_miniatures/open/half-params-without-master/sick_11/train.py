import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Sequential(
    nn.Linear(256, 1024),
    nn.GELU(),
    nn.Linear(1024, 256),
)
model = model.cuda().to(torch.bfloat16) #@
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5) #@
x = torch.randn(20000, 256)
loader = DataLoader(TensorDataset(x, x.flip(1)), batch_size=128, shuffle=True)

model.train()
for epoch in range(20):
    running = torch.zeros((), device="cuda")
    for inp, target in loader:
        inp = inp.to("cuda", torch.bfloat16)
        target = target.to("cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(inp).float(), target)
        loss.backward()
        optimizer.step() #@
        running += loss.detach()
    print(f"epoch {epoch}: {running.item() / len(loader):.5f}")
torch.save(model.state_dict(), "reverser.pt")
