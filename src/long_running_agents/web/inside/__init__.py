"""What turns foreign bytes into text, in a process of its own that has nothing to lose.

It imports nothing else of ours, sees no environment and no secrets, and has hard limits of time and
memory: a document that blows up takes only this process with it.
"""
