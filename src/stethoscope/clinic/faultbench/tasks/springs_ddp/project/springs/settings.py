"""The settings of a run, read from TOML; every table is an attribute."""

import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace


class Settings(SimpleNamespace):
    @classmethod
    def from_file(cls, path):
        with open(path, "rb") as file:
            tables = tomllib.load(file)
        settings = cls(**{key: section(value) for key, value in tables.items()})
        settings.source = Path(path)
        settings.tables = tables
        return settings

    def copy_to(self, folder):
        shutil.copyfile(self.source, folder / self.source.name)


def section(value):
    return SimpleNamespace(**value) if isinstance(value, dict) else value
