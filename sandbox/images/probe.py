"""Looks at the image that it runs in and prints what it finds. Standard library, Python 3.8.

The builder and `execgym images check` run its text in a container of the image.
"""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import json
import os
import platform
import shutil
import stat
import sys

_DPKG_FIELDS = ("Package: ", "Version: ", "Status: ")


def python_packages() -> dict[str, str]:
    """Return the versions of the installed distributions."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        if name and name not in found:
            found[name] = distribution.version
    return found


def debian_packages() -> dict[str, str]:
    """Return the versions of dpkg's packages, none where there is no dpkg."""
    found = {}
    for path in ["/var/lib/dpkg/status", *sorted(glob.glob("/var/lib/dpkg/status.d/*"))]:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                paragraphs = file.read().split("\n\n")
        except OSError:
            continue
        for paragraph in paragraphs:
            lines = [line for line in paragraph.splitlines() if line.startswith(_DPKG_FIELDS)]
            fields = dict(line.split(": ", 1) for line in lines)
            if fields.get("Status", "installed").endswith("installed") and "Package" in fields:
                found[fields["Package"]] = fields.get("Version", "")
    return found


def privileges() -> list[tuple[str, str]]:
    """Return the files that give privileges or reach devices, each with what it has."""
    root = os.lstat("/").st_dev
    found = []
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if _device(os.path.join(folder, name)) == root]
        for name in files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append((path, "set-user-id" if mode & stat.S_ISUID else "set-group-id"))
            elif stat.S_ISREG(mode) and _has_capabilities(path):
                found.append((path, "file capabilities"))
            elif (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and os.lstat(path).st_dev == root:
                found.append((path, "device"))
    return found


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1


def _has_capabilities(path: str) -> bool:
    try:
        return "security.capability" in os.listxattr(path, follow_symlinks=False)
    except OSError:
        return False


def import_errors(names: list[str]) -> dict[str, str]:
    """Return why each of the modules that do not import does not."""
    found = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # Whatever a module raises is what there is to report.
            found[name] = f"{type(error).__name__}: {error}"
    return found


def main(wanted: dict[str, list[str]]) -> None:
    """Print all of it as one line of JSON."""
    report = {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "libc": list(platform.libc_ver()),
        "python_packages": python_packages(),
        "debian_packages": debian_packages(),
        "privileges": privileges(),
        "import_errors": import_errors(wanted["modules"]),
        "missing_programs": [name for name in wanted["programs"] if shutil.which(name) is None],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
