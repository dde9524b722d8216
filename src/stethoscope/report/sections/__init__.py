"""The sections of the terminal report: functions that give its lines, one file per subject."""
