"""One file per remedy, found by folder. REMEDY says which causes it cures; `splices`, `advice` and
`expect` say what it changes, what to do by hand, and what the next run will show."""
