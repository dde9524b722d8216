from .collate import LabelCollator
from .trainer import RDropTrainer

__all__ = ["LabelCollator", "RDropTrainer"]
