"""The shapes of requests and answers, a file for each noun."""
