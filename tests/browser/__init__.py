"""Pages in a real browser: Chromium, driven by Playwright; skipped with a notice where either is missing."""
