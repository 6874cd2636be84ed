"""Reading the web: pages by plain requests or a real browser, and searching. Always as data."""
