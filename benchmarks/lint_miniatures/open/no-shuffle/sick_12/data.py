from torch.utils.data import DataLoader, TensorDataset
import torch


def make_loader(split, batch_size, training=False, drop_last=None): #@
    feats, labels = torch.load(f"features_{split}.pt")
    order = labels.argsort()
    dataset = TensorDataset(feats[order], labels[order]) #@
    return DataLoader(
        dataset,
        batch_size=batch_size,
        shuffle=False, #@
        drop_last=training if drop_last is None else drop_last,
    )
