# ruff: noqa
import json

from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 2e-4, "peak")
flags.DEFINE_integer("batch_size", 128, "per device")
flags.DEFINE_bool("amp", False, "mixed")
flags.DEFINE_string("name", None, "name")


def main(argv):
    print(json.dumps({k: FLAGS[k].value for k in ("lr", "batch_size", "amp", "name")}))


if __name__ == "__main__":
    app.run(main)
