"""What a run writes about itself; only the first rank writes."""

import csv
import json
import logging
from pathlib import Path


class Journal:
    def __init__(self, folder: Path, kind: str, rank: int):
        self.folder, self.kind, self.silent = folder, kind, rank != 0
        if self.silent:
            return
        if kind == "tensorboard":
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder / "tb"))
        if kind == "log":
            self.logger = logging.getLogger("minigpt")
            self.logger.setLevel(logging.INFO)
            handler = logging.FileHandler(folder / "run.log")
            handler.setFormatter(logging.Formatter("[%(asctime)s][%(name)s][%(levelname)s] - %(message)s"))
            self.logger.addHandler(handler)

    def note(self, part: str, step: int, values: dict):
        """Write down some numbers of a part of the run: train or valid."""
        if self.silent:
            return
        if self.kind == "tensorboard":
            for name, value in values.items():
                self.board.add_scalar(f"{part}/{name}", value, step)
            self.board.flush()
        elif self.kind == "jsonl":
            with open(self.folder / f"{part}.jsonl", "a") as file:
                file.write(json.dumps({"step": step, **values}) + "\n")
        elif self.kind == "csv":
            path = self.folder / f"{part}_metrics.csv"
            is_new = not path.exists()
            with open(path, "a", newline="") as file:
                table = csv.writer(file)
                if is_new:
                    table.writerow(["global_step", *values])
                table.writerow([step, *values.values()])
        else:
            said = " | ".join(f"{name} {value:.5g}" for name, value in values.items())
            self.logger.info(f"{part} | step {step} | {said}")
