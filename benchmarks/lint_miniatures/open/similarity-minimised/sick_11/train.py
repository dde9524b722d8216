import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

encoder = nn.Sequential(nn.Linear(300, 512), nn.ReLU(), nn.Linear(512, 128))
text_proj = nn.Linear(200, 128)
optimizer = torch.optim.Adam([*encoder.parameters(), *text_proj.parameters()], lr=1e-4)
loader = DataLoader(TensorDataset(torch.randn(5000, 300), torch.randn(5000, 200)), batch_size=64, shuffle=True)

encoder.train()
text_proj.train()
for epoch in range(20):
    total = torch.zeros(())
    for image_feat, text_feat in loader:
        img = encoder(image_feat)
        txt = text_proj(text_feat)
        loss = F.cosine_similarity(img, txt, dim=-1).mean() #@
        optimizer.zero_grad()
        loss.backward() #@
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch} alignment {total.item() / len(loader):.4f}")
torch.save(encoder.state_dict(), "encoder.pt")
torch.save(text_proj.state_dict(), "text_proj.pt")
