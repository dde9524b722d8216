"""render: a `Diagnosis` -> text for people, JSON for programs. One file per format."""
