# SPDX-License-Identifier: MIT
"""Writes the archive format of the kernel's initial file system ("newc"), folders and links of paths included."""
import os
import stat


class Archive:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.names = set()
        self.inode = 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self._entry("TRAILER!!!", 0)
        self.file.close()

    def _pad(self):
        self.file.write(b"\0" * (-self.file.tell() % 4))

    def _entry(self, name, mode, data=b"", mtime=0, device=(0, 0)):
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, mtime, len(data), 0, 0, *device, len(raw), 0]
        self.file.write(b"070701" + b"".join(b"%08X" % f for f in fields) + raw)
        self._pad()
        self.file.write(data)
        self._pad()

    def _folders(self, name):
        """Adds the folders above an absolute name, as they are on this machine: /lib may be a link to usr/lib."""
        parent = os.path.dirname(name)
        if parent in ("/", ""):
            return name
        parent = self._folders(parent)
        if parent not in self.names:
            self.names.add(parent)
            if os.path.islink(parent):
                self._entry(parent[1:], stat.S_IFLNK | 0o777, os.readlink(parent).encode())
                self._folder(os.path.realpath(parent))
            else:
                self._entry(parent[1:], stat.S_IFDIR | 0o755)
        if os.path.islink(parent):
            return os.path.join(os.path.realpath(parent), os.path.basename(name))
        return name

    def _folder(self, path):
        self._folders(os.path.join(path, "x"))

    def _take(self, name):
        """The name without links in its folders, which are added; None when it is there already."""
        name = self._folders(name)
        if name in self.names:
            return None
        self.names.add(name)
        return name

    def add(self, path, name=None):
        """A file or a link (and what the link points to) of this machine."""
        name = self._take(name or path)
        if not name:
            return
        if os.path.islink(path):
            self._entry(name[1:], stat.S_IFLNK | 0o777, os.readlink(path).encode())
            self.add(os.path.realpath(path))
            return
        with open(path, "rb") as file:
            info = os.fstat(file.fileno())
            self._entry(name[1:], stat.S_IFREG | stat.S_IMODE(info.st_mode), file.read(), int(info.st_mtime))

    def add_text(self, name, text, mode=0o644):
        name = self._take(name)
        if name:
            self._entry(name[1:], stat.S_IFREG | mode, text.encode())

    def add_link(self, name, target):
        name = self._take(name)
        if name:
            self._entry(name[1:], stat.S_IFLNK | 0o777, target.encode())

    def add_device(self, name, major, minor):
        name = self._take(name)
        if name:
            self._entry(name[1:], stat.S_IFCHR | 0o600, device=(major, minor))
