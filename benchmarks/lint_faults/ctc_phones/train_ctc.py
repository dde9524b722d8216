import argparse
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader

from corpus import BLANK, N_PHONES, ToneCorpus, collate
from engine import Engine, evaluating
from frontend import N_MELS, LogMel


class Recogniser(nn.Module):
    def __init__(self, hidden, layers, dropout):
        super().__init__()
        self.frontend = LogMel()
        self.rnn = nn.GRU(N_MELS, hidden, layers, batch_first=True, bidirectional=True, dropout=dropout)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(2 * hidden, N_PHONES + 1)

    def forward(self, wave, wave_len):
        feats, frames = self.frontend(wave, wave_len)
        packed = pack_padded_sequence(feats, frames.cpu(), batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(self.drop(hidden)), frames


class CTCEngine(Engine):
    amp = False

    def compute_loss(self, batch):
        with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.amp):
            logits, frames = self.model(batch["wave"], batch["wave_len"])
        log_probs = F.log_softmax(logits.float(), dim=-1).transpose(0, 1)
        return F.ctc_loss(
            log_probs, batch["phones"], frames, batch["phone_len"], blank=BLANK, zero_infinity=True
        )


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def greedy(logits, frames):
    for best, n in zip(logits.argmax(-1).cpu(), frames.tolist()):
        path = torch.unique_consecutive(best[:n])
        yield path[path != BLANK].tolist()


def phone_error_rate(model, loader, device):
    errors = total = 0
    with evaluating(model):
        for batch in loader:
            logits, frames = model(batch["wave"].to(device), batch["wave_len"].to(device))
            truth = batch["phones"].split(batch["phone_len"].tolist())
            for hyp, ref in zip(greedy(logits, frames), truth):
                errors += edit_distance(hyp, ref.tolist())
                total += len(ref)
    return errors / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--max-lr", type=float, default=5e-3)
    ap.add_argument("--weight-decay", type=float, default=1e-4)
    ap.add_argument("--max-norm", type=float, default=5.0)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--layers", type=int, default=2)
    ap.add_argument("--dropout", type=float, default=0.1)
    ap.add_argument("--no-amp", action="store_true")
    ap.add_argument("--exp-dir", default="exp/ctc")
    ap.add_argument("--resume", action="store_true", help="go on from exp-dir/last.pt")
    args = ap.parse_args()

    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_set, dev_set = ToneCorpus(40, seed=1), ToneCorpus(12, seed=2)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate)
    dev_loader = DataLoader(dev_set, args.batch_size, collate_fn=collate)

    model = Recogniser(args.hidden, args.layers, args.dropout)
    model.frontend.fit([wave for wave, _ in train_set])
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.max_lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.max_lr, total_steps=args.epochs * len(train_loader)
    )
    amp = device.type == "cuda" and not args.no_amp
    scaler = torch.amp.GradScaler(device.type, enabled=amp)
    engine = CTCEngine(model, optimizer, scheduler, scaler, device, args.max_norm)
    engine.amp = amp
    best = {"per": float("inf")}
    last = os.path.join(args.exp_dir, "last.pt")
    os.makedirs(args.exp_dir, exist_ok=True)

    @engine.on("epoch_end")
    def score(eng, loss):
        per = phone_error_rate(eng.model, dev_loader, device)
        print(f"epoch {eng.epoch}: ctc {loss:.3f} per {per:.3f}")
        better = per < best["per"]
        best["per"] = min(per, best["per"])
        torch.save({"engine": eng.state_dict(), "best": best}, last)
        if better:
            torch.save(eng.model.state_dict(), os.path.join(args.exp_dir, "best.pt"))

    if args.resume:
        state = torch.load(last, map_location=device)
        engine.load_state_dict(state["engine"])
        best.update(state["best"])
    engine.fit(train_loader, args.epochs)


if __name__ == "__main__":
    main()
