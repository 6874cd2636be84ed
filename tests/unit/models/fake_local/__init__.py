"""A stand-in for the package that runs models inside this program."""
