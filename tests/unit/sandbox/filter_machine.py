"""A reading of the kernel's packet filter, to run our programs for any processor."""

import struct

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def verdict(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the kernel would do with a system call."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *padded)
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    register = position = 0
    while True:
        code, yes, no, value = steps[position]
        position += 1
        match code:
            case 0x20:
                register = struct.unpack_from("<I", data, value)[0]
            case 0x15:
                position += yes if register == value else no
            case 0x35:
                position += yes if register >= value else no
            case 0x45:
                position += yes if register & value else no
            case 0x06:
                return value
            case _:
                raise AssertionError(hex(code))
