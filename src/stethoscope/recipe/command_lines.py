"""The command line by which a shell script starts its training, with the script's variables filled in."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from stethoscope.errors import UnreadableFile
from stethoscope.recipe._shell.commands import commands
from stethoscope.recipe._text import Text
from stethoscope.recipe._tree import TooMuch
from stethoscope.recipe.shell_launcher import trainings
from stethoscope.run import Where

_HANDS_ON = re.compile(r"\$[@*]|\$\{[@*]\}")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The words of a command and where it stands. `words` are empty where only a shell knows all of them.

    `hands_on` says that the script hands its own arguments on to the training.
    """

    words: tuple[str, ...]
    where: Where
    hands_on: bool = False

    def __str__(self) -> str:
        return shlex.join(self.words)


def command_line(text: str, file: str) -> CommandLine | None:
    """The command of the one training that a script starts; None where it starts none, or several."""
    try:
        found = trainings(text, file)
        if len(found) != 1:
            return None
        source = Text(text, file)
        for command in commands(text):
            if source.where(command.start) == found[0].where:
                known = all(word.known for word in command.arguments)
                words = tuple(word.text for word in command.arguments) if known else ()
                return CommandLine(words, found[0].where, bool(_HANDS_ON.search(text)))
    except (UnreadableFile, TooMuch, RecursionError):
        return None
    return None
