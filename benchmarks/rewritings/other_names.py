"""Every usual name as another person would have called it."""

from __future__ import annotations

import ast

from rewritings._scopes import variables

SYNONYMS = {
    "model": "backbone",
    "net": "backbone",
    "network": "backbone",
    "optimizer": "solver",
    "optim": "solver",
    "opt": "solver",
    "loss": "objective",
    "scheduler": "annealer",
    "sched": "annealer",
    "loader": "feed",
    "train_loader": "train_feed",
    "val_loader": "dev_feed",
    "valid_loader": "dev_feed",
    "x": "inp",
    "y": "gold",
    "inputs": "xb",
    "targets": "gold",
    "target": "gold",
    "labels": "gold",
    "logits": "scores",
    "pred": "guess",
    "preds": "guesses",
    "out": "res",
    "output": "res",
    "outputs": "res",
    "criterion": "measure",
    "scaler": "amp_helper",
    "ema": "slow",
    "batch": "chunk",
    "step": "it",
    "epoch": "round_",
    "total": "acc_",
    "running_loss": "sum_",
    "lr": "rate",
    "device": "dev",
    "noise": "eps_",
    "sigma": "level",
    "generator": "painter",
    "discriminator": "critic_net",
}


def rewrite(tree: ast.Module) -> ast.Module:
    """Say synonyms where a variable has a usual name."""
    own = variables(tree)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names: dict[str, str] = {}
    for old in sorted(own & set(SYNONYMS)):
        new = SYNONYMS[old]
        while new in taken or new in names.values():
            new += "_"
        names[old] = new
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            node.id = names[node.id]
        elif isinstance(node, ast.arg) and node.arg in names:
            node.arg = names[node.arg]
    return tree
