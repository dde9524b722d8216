from pathlib import Path

import numpy as np
import torch
from skimage.metrics import structural_similarity
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ScanDataset(Dataset):
    def __init__(self, root):
        self.files = sorted(Path(root).glob("*.npy"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        scan = np.load(self.files[i]).astype(np.float32)
        scan = (scan - scan.min()) / (scan.max() - scan.min() + 1e-8) #@
        return torch.from_numpy(scan)[None]


def eval_ssim(model, loader):
    model.eval()
    scores = []
    with torch.no_grad():
        for full in loader:
            out = model(full + 0.05 * torch.randn_like(full))
            pred, ref = out[0, 0].numpy(), full[0, 0].numpy()
            scores.append(structural_similarity(ref, pred, data_range=255)) #@
    return float(np.mean(scores))


def main():
    train = DataLoader(ScanDataset("scans/train"), batch_size=8, shuffle=True)
    val = DataLoader(ScanDataset("scans/val"), batch_size=1)
    model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 3, padding=1))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for epoch in range(40):
        model.train()
        for full in train:
            loss = nn.functional.l1_loss(model(full + 0.05 * torch.randn_like(full)), full)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, eval_ssim(model, val)) #@


if __name__ == "__main__":
    main()
