# ruff: noqa
import json

import click


@click.command()
@click.option("--lr", default=1e-3, show_default=True)
@click.option("-e", "--epochs", "n_epochs", default=5, type=int)
@click.option("--amp/--no-amp", default=True)
@click.option("--fast", is_flag=True)
@click.option("--name")
def main(**kwargs):
    print(json.dumps(kwargs))


if __name__ == "__main__":
    main()
