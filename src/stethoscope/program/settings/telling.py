"""What only tells of a value: print-outs, log messages, saved records, and checks that print or stop."""

from __future__ import annotations

import ast
import re

from stethoscope.program.settings.mentions import called

MATHS = frozenset({"math", "np", "numpy", "torch", "jnp", "tf", "F"})

_PRINTS = re.compile(
    r"^(?:print\w*|pprint|echo|secho|warn|log|logger|log_\w+|print_\w+|display|breakpoint|exit|quit)$"
)
_PRINT_METHODS = frozenset(
    {
        *("info", "debug", "warning", "error", "critical", "exception", "warn", "log", "print"),
        *("write", "echo", "secho", "log_param", "log_params", "log_hyperparams", "log_hparams"),
        *("log_metrics", "log_dict", "log_text", "add_text", "add_hparams", "add_scalar"),
        *("add_scalars", "set_description", "set_postfix", "rule", "set_postfix_str"),
        *("set_description_str", "save_hyperparameters", "init_trackers", "pprint", "rprint"),
        *("log_config", "summary", "add_row", "exit", "fail", "track", "write_text", "write_bytes"),
    }
)
# Calls that write their first argument away; the others (a path) act.
_WRITES = re.compile(
    r"^(?:torch\.save|json\.dump|yaml\.(?:safe_)?dump|pickle\.dump|(?:\w+\.)?OmegaConf\.save|toml\.dump"
    r"|wandb\.config\.update|(?:\w+\.)*save_config|joblib\.dump|(?:\w+\.)*accelerator\.save|xm\.save"
    r"|(?:torch\.distributed\.checkpoint|dcp|dist_cp)\.save)$"
)
# The same with the path before it.
_WRITES_TO = re.compile(r"^(?:(?:\w+\.)*_?fabric\.save|(?:np|numpy)\.savez?(?:_compressed)?)$")


def tells(call: ast.Call, given: ast.expr | ast.keyword) -> bool:
    """Whether a call only prints, logs or saves the argument it is given."""
    name = called(call)
    base, _, last = name.rpartition(".")
    if name in {"wandb.init", "mlflow.start_run"}:
        return isinstance(given, ast.keyword) and given.arg == "config"
    if _WRITES.match(name):
        return given in call.args[:1] or getattr(given, "arg", None) == "obj"
    if _WRITES_TO.match(name):
        return given not in call.args[:1] and getattr(given, "arg", None) not in {"path", "filter", "file"}
    if base or isinstance(call.func, ast.Attribute):  # (folder / "settings.json").write_text(...)
        return last in _PRINT_METHODS and base not in MATHS
    return bool(_PRINTS.match(last))


def only_tells(body: list[ast.stmt]) -> bool:
    """Whether statements do nothing but print, log, warn or stop with an error."""
    return all(_only_tells(statement) for statement in body)


def _only_tells(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass | ast.Raise | ast.Assert):
        return True
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return True
        if not isinstance(statement.value, ast.Call):
            return False
        base, _, last = called(statement.value).rpartition(".")
        return last in _PRINT_METHODS and base not in MATHS if base else bool(_PRINTS.match(last))
    if isinstance(statement, ast.If):
        return only_tells(statement.body) and only_tells(statement.orelse)
    if isinstance(statement, ast.For | ast.With):
        return only_tells(statement.body)
    return False
