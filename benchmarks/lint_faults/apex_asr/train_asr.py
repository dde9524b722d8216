"""Frame classification of spoken digits (synthetic filter banks). Uses apex where it is installed."""
import argparse
import os

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

try:
    from apex import amp
except ImportError:
    amp = None


class FilterBanks(Dataset):
    def __init__(self, n, num_mel, seed, mean=None, std=None):
        g = torch.Generator().manual_seed(seed)
        self.utterances = []
        for _ in range(n):
            length = int(torch.randint(12, 30, (), generator=g))
            phones = torch.randint(0, 6, (length // 3 + 1,), generator=g).repeat_interleave(3)[:length]
            feats = 4.0 * torch.nn.functional.one_hot(phones, num_mel).float() + torch.randn(length, num_mel, generator=g) - 7
            self.utterances.append((feats, phones))
        frames = torch.cat([f for f, _ in self.utterances])
        self.mean = frames.mean(0) if mean is None else mean
        self.std = frames.std(0) if std is None else std

    def __len__(self):
        return len(self.utterances)

    def __getitem__(self, i):
        feats, phones = self.utterances[i]
        return (feats - self.mean) / self.std, phones


def collate(batch):
    feats, phones = zip(*batch)
    lengths = torch.tensor([len(f) for f in feats])
    return pad_sequence(feats, batch_first=True), pad_sequence(phones, batch_first=True), lengths


class AcousticModel(nn.Module):
    def __init__(self, num_mel, hidden, classes):
        super(AcousticModel, self).__init__()
        self.conv = nn.Conv1d(num_mel, hidden, 5, padding=2)
        self.bn = nn.BatchNorm1d(hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, feats):
        h = torch.relu(self.bn(self.conv(feats.transpose(1, 2)))).transpose(1, 2)
        return self.out(self.gru(h)[0])


def frame_mask(lengths, width):
    return torch.arange(width, device=lengths.device)[None] < lengths[:, None]


def masked_loss(logits, targets, lengths):
    nll = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    mask = frame_mask(lengths, nll.size(1))
    return nll[mask].mean()


def smoothness(model, feats):
    """How much the output moves when the input is nudged along its gradient."""
    probe = feats.clone().requires_grad_(True)
    with torch.backends.cudnn.flags(enabled=False):  # cuDNN has no backward for a GRU in eval mode
        score = model(probe).logsumexp(-1).mean()
    score.backward()
    return probe.grad.abs().mean()


def validate(model, loader, device):
    model.eval()
    hits, frames = 0, 0
    with torch.no_grad():
        for feats, phones, lengths in loader:
            feats, phones, lengths = feats.to(device), phones.to(device), lengths.to(device)
            mask = frame_mask(lengths, phones.size(1))
            hits += ((model(feats).argmax(-1) == phones) & mask).sum()
            frames += mask.sum()
    return (hits / frames).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--num_mel", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--max_norm", type=float, default=4.0)
    parser.add_argument("--opt_level", default="O1")
    parser.add_argument("--exp_dir", default="asr_exp")
    parser.add_argument("--continue_from", default="")
    args = parser.parse_args()

    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set = FilterBanks(64, args.num_mel, seed=0)
    dev_set = FilterBanks(16, args.num_mel, seed=1, mean=train_set.mean, std=train_set.std)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(dev_set, batch_size=args.batch_size, collate_fn=collate)
    model = AcousticModel(args.num_mel, args.hidden, 6).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    use_apex = amp is not None and device.type == "cuda"
    if use_apex:
        model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)

    start_epoch, best = 0, 0.0
    if args.continue_from:
        package = torch.load(args.continue_from, map_location=device)
        model.load_state_dict(package["state_dict"])
        optimizer.load_state_dict(package["optim_dict"])
        if use_apex:
            amp.load_state_dict(package["amp"])
        start_epoch, best = package["epoch"], package["best"]

    os.makedirs(args.exp_dir, exist_ok=True)
    for epoch in range(start_epoch, args.epochs):
        model.train()
        for i, (feats, phones, lengths) in enumerate(train_loader):
            feats, phones, lengths = feats.to(device), phones.to(device), lengths.to(device)
            loss = masked_loss(model(feats), phones, lengths)
            optimizer.zero_grad()
            if use_apex:
                with amp.scale_loss(loss, optimizer) as scaled_loss:
                    scaled_loss.backward()
                torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), args.max_norm)
            else:
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_norm)
            optimizer.step()
            if i % 4 == 0:
                print("epoch %d iter %d loss %.4f" % (epoch, i, loss.item()))
        accuracy = validate(model, dev_loader, device)
        print("epoch %d dev accuracy %.4f smoothness %.4f" % (epoch, accuracy, smoothness(model, feats).item()))
        if accuracy > best:
            best = accuracy
            package = {"state_dict": model.state_dict(), "optim_dict": optimizer.state_dict(), "epoch": epoch + 1,
                       "best": best}
            if use_apex:
                package["amp"] = amp.state_dict()
            torch.save(package, os.path.join(args.exp_dir, "model.pth.tar"))


if __name__ == "__main__":
    main()
