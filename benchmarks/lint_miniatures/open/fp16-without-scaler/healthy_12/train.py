import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

backbone = torch.hub.load("facebookresearch/dinov2", "dinov2_vits14").cuda().eval().requires_grad_(False)
head = nn.Linear(384, 20).cuda()
optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
data = TensorDataset(torch.rand(1000, 3, 224, 224), torch.randint(0, 20, (1000,)))
loader = DataLoader(data, batch_size=32, shuffle=True)


@torch.no_grad()
@torch.autocast("cuda", dtype=torch.float16)
def features(images):
    return backbone(images)


head.train()
for epoch in range(10):
    for images, labels in loader:
        feats = features(images.cuda()).float()
        loss = nn.functional.cross_entropy(head(feats), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
torch.save(head.state_dict(), "head.pt")
