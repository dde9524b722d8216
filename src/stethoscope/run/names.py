"""Canonical signal names: one spelling for what logs call by a hundred."""

from __future__ import annotations


def canonical(logged: str) -> str:
    """The canonical name of a logged quantity, or the logged name where none is known."""
    aliases = {"scale_g": "loss_scale", "learning_rate": "lr", "l_g_total": "loss"}
    return aliases.get(logged, logged)


def better(name: str) -> str | None:
    """Whether "higher" or "lower" values of a metric are better; None where that is not known."""
    return {"val/psnr": "higher", "val/ssim": "higher", "val/loss": "lower"}.get(name)
