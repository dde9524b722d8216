from .hooks import HOOKS, build_hook
from .runner import Runner

__all__ = ["HOOKS", "Runner", "build_hook"]
