"""The parts of TensorBoard event files: records, their checksums, and events decoded in bulk."""
