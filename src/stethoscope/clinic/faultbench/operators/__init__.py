"""The faults of FaultBench, one file each, and what only looks like one."""
