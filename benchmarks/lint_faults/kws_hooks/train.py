import argparse
import runpy

import kws.engine.hooks
import kws.engine.optim_wrapper
import kws.parts
from kws.engine.runner import Runner


def main():
    parser = argparse.ArgumentParser(description="Train a keyword spotter")
    parser.add_argument("config")
    parser.add_argument("--resume-from", default=None)
    args = parser.parse_args()
    cfg = {k: v for k, v in runpy.run_path(args.config).items() if not k.startswith("_")}
    if args.resume_from:
        cfg["resume_from"] = args.resume_from
    Runner(cfg).train()


if __name__ == "__main__":
    main()
