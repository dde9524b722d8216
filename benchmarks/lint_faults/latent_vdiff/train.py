import argparse

from settings import load_settings
from trainer import DiffusionTrainer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="conf/base.yaml")
    parser.add_argument("--resume", default=None, help="checkpoint to continue from")
    parser.add_argument("overrides", nargs="*", help="key=value, e.g. train.lr=1e-3")
    args = parser.parse_args()
    trainer = DiffusionTrainer(load_settings(args.config, args.overrides))
    if args.resume:
        trainer.load(args.resume)
    trainer.fit()


if __name__ == "__main__":
    main()
