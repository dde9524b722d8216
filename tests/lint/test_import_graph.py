"""Which files belong together."""

from __future__ import annotations

from stethoscope.lint.import_graph import groups


def grouped(modules: dict[str, str], *wanted: str, packages: tuple[str, ...] = ()) -> list[set[str]]:
    return [set(group) for group in groups(modules, frozenset(packages), wanted or tuple(modules))]


def test_files_that_import_each_other_belong_together() -> None:
    modules = {
        "train": "import lib.model as m\n",
        "lib.model": "from .layers import (\n    Layer,  # the one\n)\n",
        "lib.layers": "",
        "other": "import torch\n",
    }
    assert grouped(modules) == [{"train", "lib.model", "lib.layers"}, {"other"}]


def test_a_file_is_grouped_with_those_that_import_it() -> None:
    assert grouped({"a": "", "b": "import a", "c": "from a import x"}, "a") == [{"a", "b", "c"}]


def test_an_import_means_the_nearest_module_of_its_name() -> None:
    modules = {"x.train": "from utils import f", "x.utils": "", "y.train": "import utils", "y.utils": ""}
    assert grouped(modules) == [{"x.train", "x.utils"}, {"y.train", "y.utils"}]


def test_a_standard_module_is_not_a_file_of_the_same_name_elsewhere() -> None:
    assert grouped({"train": "import logging", "lib.logging": ""}, "train") == [{"train"}]
    assert grouped({"lib.train": "import logging", "lib.logging": ""}, "lib.train") == [
        {"lib.train", "lib.logging"}
    ]


def test_a_source_folder_is_where_imports_begin() -> None:
    assert grouped({"tools.train": "from pkg.net import Net", "src.pkg.net": ""}, "tools.train") == [
        {"tools.train", "src.pkg.net"}
    ]


def test_a_package_that_imports_by_name_holds_its_modules_together() -> None:
    modules = {"arch": "import_module(f'arch.{name}')", "arch.a": "", "arch.b": "", "train": ""}
    assert grouped(modules, "arch.a", packages=("arch",)) == [{"arch", "arch.a", "arch.b"}]


def test_the_nearest_come_first() -> None:
    chain = {f"m{n}": f"import m{n + 1}" for n in range(5)} | {"m5": ""}
    assert groups(chain, frozenset(), ["m2"]) == [["m2", "m1", "m3", "m0", "m4", "m5"]]


def test_relative_imports_that_leave_the_project_lead_nowhere() -> None:
    assert grouped({"a": "from ...b import c", "b": ""}, "a") == [{"a"}]


def test_a_name_that_only_one_file_has_means_that_file() -> None:
    assert grouped({"a.train": "import helpers", "b.helpers": ""}, "a.train") == [{"a.train", "b.helpers"}]
    apart = {"a.train": "import helpers", "b.helpers": "", "c.helpers": ""}
    assert grouped(apart, "a.train") == [{"a.train"}]


def test_what_builds_from_settings_goes_with_the_modules_that_they_name() -> None:
    modules = {
        "train": "from hydra.utils import instantiate\nnet = instantiate(cfg.net)\n",
        "parts.nets": "class Net: ...\n",
        "parts.other": "class Other: ...\n",
        "report": "import json\n",
    }
    settings = {"conf.net": "net:\n  _target_: parts.nets.Net\n  told: parts.other.Other\n"}
    named = groups(modules, frozenset(), ["train"], settings)
    assert [set(group) for group in named] == [{"train", "parts.nets"}]
    assert groups(modules, frozenset(), ["report"], settings) == [["report"]]


def test_settings_elsewhere_name_nothing_for_a_builder() -> None:
    modules = {"one.train": "net = instantiate(cfg.net)\n", "two.nets": "class Net: ...\n"}
    settings = {"two.conf": "_target_: two.nets.Net\n"}
    assert groups(modules, frozenset(), ["one.train"], settings) == [["one.train"]]


def test_what_lies_in_no_folder_goes_with_what_it_imports_and_with_nobody_else() -> None:
    modules = {
        "<stdin>": "import tools\nfrom deep import net",
        "tools": "",
        "other": "import tools",
        "examples.one.deep.net": "",
    }
    packages = frozenset({"examples.one.deep"})
    assert [set(g) for g in groups(modules, packages, ["<stdin>"], homeless={"<stdin>"})] == [
        {"<stdin>", "tools"}
    ]
