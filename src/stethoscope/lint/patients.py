"""The programs among the files, each with the settings it may run under.

Files that import each other are one program; scripts that have nothing to do with each other are examined
apart, so that one's names never stand for another's. Settings files that set the same key are alternatives:
the program is examined under each, never under a mixture that nobody runs. What a shell script starts is an
alternative of its own: its command line over the files that it names.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stethoscope.errors import UnreadableFile
from stethoscope.lint.files import SHOWN_STDIN, Files
from stethoscope.lint.import_graph import groups
from stethoscope.lint.launched import is_called, launched, scripts_asked_about
from stethoscope.program import module_name, parsed_source
from stethoscope.program.remembered import remembered
from stethoscope.recipe import hydra_in_use
from stethoscope.recipe import in_use as settings_in_use
from stethoscope.recipe.packages import packages_of
from stethoscope.run import Program, Recipe, Run, Source, Unread
from stethoscope.run.folder import Entry, entry_of, walk

MOST_SOURCES = 5_000  # of one program, nearest to what was asked about first
MOST_ALTERNATIVES = 8  # settings under which source is examined; the settings themselves always are
# Lines of a program times its alternatives: following its values under one costs a second or more.
MOST_LINES = 20_000
# The same for the loops alone, which settings are compared with.
MOST_FOLLOWED_LINES = 50_000
MOST_SETTINGS = 500  # files searched for the names of classes
MOST_TEXT = 200_000  # bytes of one of them
HYDRA_ENDINGS = ("", ".yaml", ".yml")
_COMPOSED = re.compile(r"config_name\s*=\s*[\"']([\w./-]+)[\"']")
_LOADS = re.compile(r"\byaml\b|\bomegaconf\b|\bhydra\b|\btomllib\b|\btoml\b|json\.load|fromfile|--config")

Kept = dict[str, tuple[bytes, Source]]


@dataclass(frozen=True, slots=True, eq=False)
class Patients:
    """The runs to examine, most of them never run: each a program with settings. What could not be read.

    `source_runs` are those under which source is examined. `texts` are the files asked about, as read.
    """

    runs: tuple[Run, ...]
    source_runs: tuple[Run, ...]
    sources: tuple[Source, ...]
    texts: dict[str, str]
    trees: dict[str, Source]
    entries: dict[str, Entry]
    settings_files: tuple[str, ...]
    unread: tuple[Unread, ...]


def patients(files: Files, kept: Kept | None = None) -> Patients:
    """Read and sort the files. `kept` remembers parsed files from one round to the next."""
    reading = _Reading(files, {} if kept is None else kept, [])
    programs = _programs(reading)
    words = [_words(program) for program in programs]
    recipes = _recipes(reading, words)
    # The files at the project's top, among which are those that say which releases it asks for.
    pins = walk(files.root, os.path.relpath(files.root), max_depth=0).files
    runs: list[Run] = []
    source_runs: list[Run] = []
    assigned = _assigned(programs, words, recipes, files)
    started = launched(files, programs, _one_each(assigned, files), reading.unread)
    covered = frozenset(file for one in started for file in one.files)
    apart = [one for one in started if one.program is None]
    loaders = tuple(program for program in programs if _loads_settings(program))
    for number, (program, own) in enumerate(assigned):
        few = _most_alternatives(program) if program else 0
        mine = [one for one in started if program is not None and one.program == number]
        alternatives = _alternatives([recipe for recipe in own if recipe.files[0].file not in covered])
        under: list[Recipe | None] = [*(one.recipe for one in mine[:few]), *alternatives]
        under = under or ([None] if program else [])
        most = _most_followed(program) if program else 0
        around = loaders if program is None else ()
        each = [_run(program, recipe, files, pins, i < most, around) for i, recipe in enumerate(under)]
        runs += each
        source_runs += each[:few]
        # Of further launches, and of those of programs elsewhere, the settings alone are examined.
        apart += mine[few:]
    runs += [_run(None, one.recipe, files, pins, around=loaders) for one in apart]
    recipes += [one.recipe for one in started]
    sources = tuple(source for program in programs for source in program)
    texts = {source.file: source.text for source in sources}
    texts |= {config.file: config.text for recipe in recipes for config in recipe.files}
    return Patients(
        tuple(runs),
        tuple(source_runs),
        sources,
        texts,
        {source.file: source for source in sources},
        {entry.file: entry for entry in (*files.settings_files, *files.launchers, *files.sources)},
        tuple(dict.fromkeys(config.file for recipe in recipes for config in recipe.files)),
        tuple(reading.unread),
    )


def _most_alternatives(program: Program) -> int:
    return min(max(MOST_LINES // _lines(program), 1), MOST_ALTERNATIVES)


def _most_followed(program: Program) -> int:
    return max(MOST_FOLLOWED_LINES // _lines(program), 1)


def _lines(program: Program) -> int:
    return sum(source.text.count("\n") for source in program) + 1


def _one_each(
    assigned: Sequence[tuple[Program | None, list[Recipe]]], files: Files
) -> dict[int, tuple[Entry, ...]]:
    """The settings files of each program that has one combination of them, or one tree of Hydra's."""
    entries = {entry.file: entry for entry in files.settings_files}
    found: dict[int, tuple[Entry, ...]] = {}
    for number, (program, own) in enumerate(assigned):
        first = [recipe.files[0].file for recipe in own]
        in_one_tree = len({os.path.dirname(name) for name in first}) == 1 and all(
            hydra_in_use.lies_in_tree(Path(os.path.abspath(name))) for name in first
        )
        if program is not None and (len(_alternatives(own)) == 1 or in_one_tree):
            found[number] = tuple(entries[name] for name in first if name in entries)
    return found


@dataclass(slots=True)
class _Reading:
    files: Files
    kept: Kept
    unread: list[Unread]


def _run(
    program: Program | None,
    recipe: Recipe | None,
    files: Files,
    pins: Sequence[Entry],
    is_followed: bool = True,
    around: tuple[Program, ...] = (),
) -> Run:
    return Run(
        str(files.root),
        files.root.name,
        recipe=recipe,
        program=program,
        packages=packages_of(pins, (), recipe),
        is_followed=is_followed,
        around=around,
    )


# --- source


def _programs(reading: _Reading) -> list[Program]:
    """Every program with a file that was asked about, or that a launcher starts which was."""
    files = reading.files
    contents, entries = _contents(reading)
    texts = {module: content.decode("latin-1") for module, content in contents.items()}
    packages = frozenset(module for module in entries if entries[module].name == "__init__.py")
    scripts = scripts_asked_about(files)
    asked = [
        module
        for module in texts
        if entries[module].file in files.asked
        or any(is_called(entries[module].file, module, script) for script in scripts)
    ]
    homeless = {module for module in asked if entries[module].file == SHOWN_STDIN}
    programs = []
    for group in groups(texts, packages, asked, _settings_texts(files), homeless):
        if len(group) > MOST_SOURCES:
            reason = f"{len(group):,} files import each other; the nearest {MOST_SOURCES:,} were read"
            reading.unread.append(Unread(str(files.root), reason))
        sources = [_source(entries[module], contents[module], reading) for module in group[:MOST_SOURCES]]
        read = sorted((source for source in sources if source), key=lambda source: source.file)
        if read:
            maintained = not any(source.file in files.records for source in read)
            programs.append(Program(os.path.relpath(files.root), tuple(read), "given", maintained))
    return programs


def _settings_texts(files: Files) -> dict[str, str]:
    """The texts of the settings files by their dotted names, where these are small enough to name classes."""
    found: dict[str, str] = {}
    for entry in files.settings_files[:MOST_SETTINGS]:
        with suppress(OSError):
            content = files.content(entry)
            if len(content) <= MOST_TEXT:
                found[_module(entry.path, files.root)] = content.decode("latin-1")
    return found


def _contents(reading: _Reading) -> tuple[dict[str, bytes], dict[str, Entry]]:
    """What the Python files hold, by module; a name that two files share is given to the first."""
    files = reading.files
    contents: dict[str, bytes] = {}
    entries: dict[str, Entry] = {}
    for entry in sorted(files.sources, key=lambda entry: (entry.file not in files.asked, entry.file)):
        try:
            content = files.content(entry)
        except OSError as problem:
            if entry.file in files.asked:
                reading.unread.append(Unread(entry.file, (problem.strerror or str(problem)).lower()))
            continue
        module = _module(entry.path, files.root)
        name = module if module not in contents else entry.file
        contents[name], entries[name] = content, entry
    return contents, entries


def _source(entry: Entry, content: bytes, reading: _Reading) -> Source | None:
    before = reading.kept.get(entry.file)
    if before is not None and before[0] == content:
        return before[1]
    try:
        source = parsed_source(content, entry.file, _module(entry.path, reading.files.root))
    except UnreadableFile as problem:
        if entry.file in reading.files.asked:
            reading.unread.append(Unread(entry.file, str(problem).removeprefix(f"{entry.file}: ")))
        return None
    reading.kept[entry.file] = (content, source)
    return source


def _module(path: Path, root: Path) -> str:
    relative = path.relative_to(root) if root in path.parents else Path(path.name)
    return module_name(PurePosixPath(relative.as_posix()))


# --- settings


def _recipes(reading: _Reading, words: Sequence[frozenset[str]]) -> list[Recipe]:
    """The settings of each file with all it builds on, the shortest path first.

    Of the files around those asked about, only what a program speaks of is read.
    """
    files = reading.files
    recipes = []
    for entry in sorted(files.settings_files, key=lambda entry: (len(entry.path.parts), entry.file)):
        if entry.file not in files.asked and not any(entry.name in spoken for spoken in words):
            continue
        around = settings_in_use.Surroundings(files.root, (entry,))
        read = (
            settings_in_use.recipe_in_use
            if settings_in_use.looks_like_settings(entry)
            else lambda around, entry=entry: settings_in_use.given_recipe(entry, around)
        )
        recipe, unread = read(around)
        if entry.file in files.asked:
            reading.unread.extend(unread)
        if recipe is not None and recipe.settings:
            recipes.append(recipe)
    return recipes


def _assigned(
    programs: Sequence[Program],
    words: Sequence[frozenset[str]],
    recipes: Sequence[Recipe],
    files: Files,
) -> list[tuple[Program | None, list[Recipe]]]:
    """Each program with the settings that are its own, and the settings that are nobody's."""
    own: dict[int, list[Recipe]] = defaultdict(list)
    nobody: list[Recipe] = []
    parts: list[Recipe] = []
    composed = frozenset(config.file for recipe in recipes for config in recipe.files[1:])
    for recipe in recipes:
        name = recipe.files[0].file
        asked = name in files.asked
        # A name that the source speaks says more than a place; a file around may be anybody's.
        users = [number for number, spoken in enumerate(words) if os.path.basename(name) in spoken]
        if not users and _is_part(name):
            parts += [recipe] if asked and name not in composed else []
            continue
        users = users or (_only_user(programs, recipe) if asked else [])
        for number in users:
            own[number].append(recipe)
        if not users and asked:
            nobody.append(recipe)
    for number, mine in own.items():
        # What was asked about is what is meant; the rest of the project stands in where nothing was.
        asked_for = [recipe for recipe in mine if recipe.files[0].file in files.asked]
        own[number] = asked_for or _nearest_of_each_name(programs[number], mine)
    assigned: list[tuple[Program | None, list[Recipe]]] = [
        (program, own[number]) for number, program in enumerate(programs)
    ]
    # A choice that Hydra was not asked for stands for itself: nothing says what it is composed with.
    return [*assigned, (None, nobody), *((None, [part]) for part in parts)]


def _is_part(name: str) -> bool:
    """Whether a settings file is one that Hydra composes others of."""
    path = Path(os.path.abspath(name))
    return hydra_in_use.lies_in_tree(path) and not hydra_in_use.lists_defaults(entry_of(path, name))


def _nearest_of_each_name(program: Program, recipes: Iterable[Recipe]) -> list[Recipe]:
    """Of settings files that bear one name in several folders, the one nearest to the program."""
    nearest: dict[str, Recipe] = {}
    for recipe in recipes:
        name = os.path.basename(recipe.files[0].file)
        if name not in nearest or _nearness(program, recipe) > _nearness(program, nearest[name]):
            nearest[name] = recipe
    return list(nearest.values())


def _nearness(program: Program, recipe: Recipe) -> int:
    """How many folders a settings file shares with the nearest file of a program."""
    home = Path(os.path.abspath(recipe.files[0].file)).parent.parts
    return max(_shared(home, folder) for folder in _folders(program))


@remembered
def _folders(program: Program) -> frozenset[tuple[str, ...]]:
    """The folders that a program's files lie in, part by part."""
    names = {os.path.dirname(os.path.abspath(source.file)) for source in program}
    return frozenset(Path(name).parts for name in names)


def _words(program: Program) -> frozenset[str]:
    """The names that a program's source speaks, and the files that Hydra is told to compose."""
    words: set[str] = set()
    for source in program:
        words.update(re.findall(r"[\w.-]+", source.text))
    composed = {name for source in program for name in _COMPOSED.findall(source.text)}
    return frozenset(words | {f"{os.path.basename(name)}{end}" for name in composed for end in HYDRA_ENDINGS})


def _only_user(programs: Sequence[Program], recipe: Recipe) -> list[int]:
    """The program that a settings file must belong to: the nearest, its namesake, the one that loads any.

    Where several might, it is nobody's: no key is unknown to a program that never sees it.
    """
    own = {config.file for config in recipe.files}
    near = {
        number: _nearness(program, recipe)
        for number, program in enumerate(programs)
        if not all(source.file in own for source in program)  # a file of Python is no program of its own
    }
    nearest = [number for number, shared in near.items() if shared == max(near.values())]
    namesakes = [number for number in nearest if _is_namesake(programs[number], recipe)]
    loaders = [number for number in nearest if _loads_settings(programs[number])]
    return next((few for few in (nearest, namesakes, loaders) if len(few) == 1), [])


@remembered
def _loads_settings(program: Program) -> bool:
    return any(_LOADS.search(source.text) for source in program)


def _is_namesake(program: Program, recipe: Recipe) -> bool:
    stem = Path(recipe.files[0].file).stem
    return any(os.path.basename(source.file) == f"{stem}.py" for source in program)


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _alternatives(recipes: Iterable[Recipe]) -> list[Recipe]:
    """The settings, those together that set different keys, and those apart that set the same."""
    mixed: list[tuple[Recipe, set[str]]] = []
    for recipe in recipes:
        keys = {setting.dotted for setting in recipe}
        for number, (other, taken) in enumerate(mixed):
            if not keys & taken:
                together = Recipe((*other.settings, *recipe.settings), (*other.files, *recipe.files))
                mixed[number] = (together, taken | keys)
                break
        else:
            mixed.append((recipe, keys))
    return [recipe for recipe, _ in mixed]
