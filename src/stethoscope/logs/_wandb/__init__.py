"""The parts of W&B's run files: frames, protobuf records, the history and what was printed."""
