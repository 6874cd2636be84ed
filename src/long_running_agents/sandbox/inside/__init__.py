"""What runs inside the sandbox, under a Python that has nothing of ours.

It is copied in file by file, so it imports the standard library and its neighbours only. Nothing
here is trusted by the host: the code it runs shares its user, and may kill or imitate it.

Everybody who starts a sandbox waits for its imports, so these are few and small: `_socket` and
`_ast` are what `socket` and `ast` are made of, without the milliseconds of their wrapping.
"""
