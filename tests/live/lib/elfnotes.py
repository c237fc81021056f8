# SPDX-License-Identifier: MIT
"""What tests need of an ELF file (64 bit, little endian, linked), read without any of the code under test."""
import collections
import re
import struct

Section = collections.namedtuple("Section", "name type flags vaddr offset size link entry")
Symbol = collections.namedtuple("Symbol", "name value size section bind type visibility")
Note = collections.namedtuple("Note", "provider name args vaddr base semaphore")

SHT_NOTE, SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 7, 2, 8, 11
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2
STV_DEFAULT, STV_HIDDEN = 0, 2


def split_args(text):
    """The operands of a note: blanks inside brackets do not separate ("4@[sp, 12]")."""
    return re.findall(r"(?:\[[^]]*\]|\([^)]*\)|[^\s\[(])+", text)


def marks(note):
    """The size marks of a note's operands, such as "-4" and "8f"."""
    return [arg.split("@", 1)[0] for arg in split_args(note.args)]


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit little endian ELF file")
        self.machine = struct.unpack_from("<H", self.data, 18)[0]
        self.sections = self._sections()

    def _sections(self):
        offset, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]
        base = raw[names][4] if raw else 0
        return [Section(self._text(base + r[0]), r[1], r[2], r[3], r[4], r[5], r[6], r[9]) for r in raw]

    def _text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def read(self, vaddr, length):
        """Bytes at an address of a section that is in memory."""
        for s in self.sections:
            if s.flags & 2 and s.type != SHT_NOBITS and s.vaddr <= vaddr and vaddr + length <= s.vaddr + s.size:
                return self.data[s.offset + vaddr - s.vaddr:][:length]
        raise ValueError(f"nothing at {vaddr:#x}")

    def section_of(self, vaddr):
        """The name of the section that an address is in, or None."""
        return next((s.name for s in self.sections if s.flags & 2 and s.vaddr <= vaddr < s.vaddr + s.size), None)

    def symbols(self, name=None, table=SHT_SYMTAB):
        ret = []
        for s in (s for s in self.sections if s.type == table):
            strings = self.sections[s.link].offset
            for at in range(s.offset, s.offset + s.size, 24):
                text, info, other, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
                ret.append(Symbol(self._text(strings + text), value, size, section, info >> 4, info & 15, other & 3))
        return [s for s in ret if name is None or s.name == name]

    def notes(self, provider=None, name=None):
        """The USDT notes, in the order of the file."""
        ret = []
        for s in (s for s in self.sections if s.type == SHT_NOTE and s.name == ".note.stapsdt"):
            at, end = s.offset, s.offset + s.size
            while at < end:
                name_len, desc_len, kind = struct.unpack_from("<III", self.data, at)
                if kind != 3 or self.data[at + 12:at + 12 + name_len] != b"stapsdt\0":
                    raise ValueError(f"a note of {s.name} is of another kind")
                desc = at + 12 + (name_len + 3) // 4 * 4
                vaddr, base, semaphore = struct.unpack_from("<QQQ", self.data, desc)
                texts = self.data[desc + 24:desc + desc_len].split(b"\0")
                if len(texts) != 4 or texts[3]:
                    raise ValueError(f"a note of {s.name} has no three strings: {texts}")
                ret.append(Note(texts[0].decode(), texts[1].decode(), texts[2].decode(), vaddr, base, semaphore))
                at = desc + (desc_len + 3) // 4 * 4
        return [n for n in ret if provider in (None, n.provider) and name in (None, n.name)]
