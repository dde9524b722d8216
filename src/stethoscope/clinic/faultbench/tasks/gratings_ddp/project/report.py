"""Rank 0 reports; the others are silent."""

import json
import sys
import time

COLUMNS = ["step", "loss", "accuracy", "loss_rank0", "loss_rank1", "grad_norm", "lr", "samples_per_second"]


class Report:
    def __init__(self, folder, backend, rank):
        self.folder, self.backend, self.rank = folder, backend, rank
        self.board = None
        if rank == 0 and backend == "tensorboard":
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder))

    def __call__(self, split, step, **numbers):
        if self.rank != 0:
            return
        if self.backend == "tensorboard":
            for name, number in numbers.items():
                self.board.add_scalar(f"{split}/{name}", number, step)
            self.board.flush()
        elif self.backend == "jsonl":
            self.line("scalars.jsonl", json.dumps({"split": split, "step": step, **numbers}))
        elif self.backend == "csv":
            path = self.folder / f"{split}_scalars.csv"
            if not path.exists():
                path.write_text(",".join(COLUMNS) + "\n")
            self.line(path.name, ",".join(str(numbers.get(name, "")) for name in COLUMNS[1:]), f"{step},")
        else:
            told = "  ".join(f"{name} {number:.6g}" for name, number in numbers.items())
            text = f"[rank0 {time.strftime('%H:%M:%S')}] {split} step {step}  {told}"
            self.line("stdout.log", text)
            print(text, file=sys.stdout, flush=True)

    def line(self, name, text, before=""):
        with open(self.folder / name, "a") as out:
            out.write(before + text + "\n")
