"""`stethoscope completion SHELL`: the script that completes commands, options and paths."""

from __future__ import annotations

import click


@click.command(
    "completion",
    short_help="Print the completion script for a shell.",
    epilog="\b\nExamples:\n"
    "  stethoscope completion bash > ~/.local/share/bash-completion/completions/stethoscope\n"
    "  stethoscope completion zsh > ~/.zfunc/_stethoscope\n"
    "  stethoscope completion fish > ~/.config/fish/completions/stethoscope.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL; put it where the shell looks for it."""
    from click.shell_completion import get_completion_class

    from stethoscope.cli._stdout import put

    root = click.get_current_context().find_root().command
    completion = get_completion_class(shell)
    assert completion is not None
    put(completion(root, {}, "stethoscope", "_STETHOSCOPE_COMPLETE").source() + "\n")
