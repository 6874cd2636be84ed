"""Looking at tables in files, in a process of their own."""
