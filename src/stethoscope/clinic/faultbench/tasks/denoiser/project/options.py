"""Options: flags with their defaults, and a YAML file that overrides the defaults."""

import argparse
import json
from pathlib import Path

import yaml


def flag(text):
    return str(text).lower() in ("1", "true", "yes", "on")


def get_parser():
    p = argparse.ArgumentParser(description="Train an EDM denoiser on small pictures.")
    p.add_argument("--config", type=Path, help="YAML file with values for any of the flags below")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--resume", help="snapshot to continue from, or 'latest'")
    p.add_argument("--outdir", type=Path, default=Path("out/shapes"))

    g = p.add_argument_group("pictures")
    g.add_argument("--data", type=Path, default=Path("data"))
    g.add_argument("--max_images", type=int, default=0, help="use only the first N pictures, 0 = all")
    g.add_argument("--hflip", type=flag, default=True)
    g.add_argument("--soften_until", type=int, default=0, help="train on softened pictures up to this step")

    g = p.add_argument_group("network")
    g.add_argument("--width", type=int, default=32)
    g.add_argument("--blocks", type=int, default=2)
    g.add_argument("--dropout", type=float, default=0.0)
    g.add_argument("--channels", type=int, default=3)

    g = p.add_argument_group("noise and loss")
    g.add_argument("--p_mean", type=float, default=-1.2, help="mean of ln(sigma)")
    g.add_argument("--p_std", type=float, default=1.2, help="standard deviation of ln(sigma)")
    g.add_argument("--sigma_data", type=float, default=0.5)
    g.add_argument("--tv", type=float, default=0.0, help="weight of the total variation term")

    g = p.add_argument_group("optimisation")
    g.add_argument("--steps", type=int, default=300)
    g.add_argument("--batch", type=int, default=20)
    g.add_argument("--accum", type=int, default=1, help="batches per update")
    g.add_argument("--lr", type=float, default=0.004)
    g.add_argument("--schedule", choices=("constant", "rsqrt", "cosine", "cyclic"), default="constant")
    g.add_argument("--warmup", type=int, default=20)
    g.add_argument("--decay_from", type=int, default=100, help="where 1/sqrt(step) takes over")
    g.add_argument("--beta1", type=float, default=0.9)
    g.add_argument("--beta2", type=float, default=0.99)
    g.add_argument("--adam_eps", type=float, default=1e-8)
    g.add_argument("--weight_decay", type=float, default=0.0)
    g.add_argument("--clip", type=float, default=0.0, help="gradient norm limit, 0 = off")
    g.add_argument("--amp", choices=("none", "bf16"), default="none")
    g.add_argument("--ema_beta", type=float, default=0.96)
    g.add_argument("--ema_power", type=float, default=0.75, help="warm-up of the average, 0 = off")

    g = p.add_argument_group("reporting")
    g.add_argument("--log_format", choices=("csv", "jsonl", "tensorboard", "ticks", "bar"), default="csv")
    g.add_argument("--log_every", type=int, default=10)
    for name in ("lr", "grad_norm", "levels", "bands", "speed"):
        g.add_argument(f"--log_{name}", type=flag, default=False)
    g.add_argument("--val_every", type=int, default=30)
    g.add_argument("--snap_every", type=int, default=60)
    return p


def parse(argv=None):
    """Flags from the command line, then from the file, then the defaults."""
    parser = get_parser()
    config = parser.parse_known_args(argv)[0].config
    if config is not None:
        given = yaml.safe_load(config.read_text())
        unknown = set(given) - {action.dest for action in parser._actions}
        if unknown:
            parser.error(f"{config}: unknown option {', '.join(sorted(unknown))}")
        parser.set_defaults(**given)
    opts = parser.parse_args(argv)
    opts.outdir, opts.data = Path(opts.outdir), Path(opts.data)
    return opts


def dump(opts, path):
    """Write the options that a run really has."""
    path.write_text(json.dumps(vars(opts), indent=2, default=str) + "\n")
