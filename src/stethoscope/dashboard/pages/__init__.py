"""The pages, one file each: pure functions from what is known to HTML, by the report's own markup."""
