"""Jobs: the scheduler, watches, notices, reflection on finished turns, and the curator."""
