# SPDX-License-Identifier: MIT
"""A seccomp filter that refuses one option of prctl, as containers and sandboxes may: for preexec=."""
import ctypes
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
RET_ALLOW, RET_ERRNO, RET_KILL_PROCESS = 0x7fff0000, 0x00050000, 0x80000000
SYS_PRCTL = 157                                 # x86-64
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # classic BPF
NUMBER_AT, OPTION_AT = 0, 16                    # in struct seccomp_data

_libc = ctypes.CDLL(None, use_errno=True)


def forbid_prctl(option, verdict):
    """Installs the filter in this process: prctl with that option gets the verdict, RET_ERRNO | errno for one."""
    instructions = [(LOAD, 0, 0, NUMBER_AT), (JUMP_IF_EQUAL, 0, 3, SYS_PRCTL), (LOAD, 0, 0, OPTION_AT),
                    (JUMP_IF_EQUAL, 0, 1, option), (RETURN, 0, 0, verdict), (RETURN, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *i) for i in instructions))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(instructions), ctypes.addressof(code)))
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")
