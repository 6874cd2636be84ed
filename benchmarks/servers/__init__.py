"""Servers side by side: each a program that listens on loopback, with the one tool `step`."""
