# ruff: noqa
import json
from typing import Optional

import typer

app = typer.Typer()


@app.command()
def train(lr: float = typer.Option(3e-4, help="peak"), steps: int = 10 * 100, name: Optional[str] = None):
    print(json.dumps({"lr": lr, "steps": steps, "name": name}))


if __name__ == "__main__":
    app()
