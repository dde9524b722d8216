# ruff: noqa
import argparse
import json

BASE_LR = 3e-4


def get_parser():
    parser = argparse.ArgumentParser(description="train")
    parser.add_argument("data", default="data", nargs="?")
    parser.add_argument("-b", "--batch-size", type=int, default=8 * 4, help="per device")
    parser.add_argument("--lr", "--learning-rate", default=BASE_LR, type=float, metavar="LR", dest="lr")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--no-ema", action="store_false", dest="ema")
    parser.add_argument("--betas", type=float, nargs=2, default=[0.9, 0.999])
    group = parser.add_argument_group("schedule")
    group.add_argument("--warmup_steps", type=int, default=-1)
    group.add_argument("--resume")
    add = parser.add_argument
    add("--seed", type=int, default=1337)
    return parser


if __name__ == "__main__":
    print(json.dumps(vars(get_parser().parse_args())))
