"""Kalends: from dates as they are spoken to ISO 8601."""
