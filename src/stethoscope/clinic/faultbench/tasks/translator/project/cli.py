"""Teach a network to write dates.

python cli.py fit recipes/dates.toml --seed 7
python cli.py fit recipes/dates.toml --seed 7 --continue
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from kalends.engine import begin, fit
from kalends.recipe import Recipe
from kalends.snapshots import newest, take_up


def run_fit(asked: argparse.Namespace) -> None:
    asked.output.mkdir(parents=True, exist_ok=True)
    shutil.copy(asked.recipe, asked.output)
    session = begin(Recipe.read(asked.recipe), asked.output, asked.seed)
    weights = sum(weight.numel() for weight in session.net.parameters())
    print(f"{weights} weights, {len(session.feed.order.pairs)} pairs")
    if asked.go_on:
        take_up(session, newest(asked.output))
    fit(session)
    print(f"best nll: {session.best:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    fitting = commands.add_parser("fit", help="train a network, or go on training it")
    fitting.add_argument("recipe", type=Path, nargs="?", default=Path("recipes/dates.toml"))
    fitting.add_argument("--output", type=Path, default=Path("runs/dates"))
    fitting.add_argument("--seed", type=int, default=1)
    fitting.add_argument("--continue", dest="go_on", action="store_true", help="from the newest snapshot")
    fitting.set_defaults(do=run_fit)
    asked = parser.parse_args()
    asked.do(asked)


if __name__ == "__main__":
    main()
