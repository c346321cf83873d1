"""The package sources of a Debian machine, one-line and deb822, turned into deb-src."""

import os
import re


def source_entries(etc):
    """The machine's package sources as deb-src: (file suffix, text, set of URIs) for each entry."""
    parts = os.path.join(etc, "sources.list.d")
    names = [os.path.join(etc, "sources.list")]
    if os.path.isdir(parts):
        names += [os.path.join(parts, name) for name in sorted(os.listdir(parts))]
    entries = []
    for name in names:
        if not os.path.isfile(name):
            continue
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if name.endswith(".list"):
            entries += one_line_entries(text)
        elif name.endswith(".sources"):
            entries += deb822_entries(text)
    unique = []
    for entry in entries:
        if entry not in unique:
            unique.append(entry)
    return unique


def one_line_entries(text):
    line_form = re.compile(r"^[ \t]*deb(?:-src)?[ \t]+((?:\[[^\]]*\][ \t]+)?(\S+)[ \t]+[^#\n]+)",
                           re.MULTILINE)
    return [
        (".list", f"deb-src {rest.strip()}\n", {uri.rstrip("/")})
        for rest, uri in line_form.findall(text)
        if not uri.startswith("cdrom:")
    ]


def deb822_entries(text):
    entries = []
    text = re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text):
        fields = re.findall(r"^([^\s:]+):((?:.*)(?:\n[ \t].*)*)", paragraph, re.MULTILINE)
        values = {name.lower(): value.split() for name, value in fields}
        enabled = (values.get("enabled") or ["yes"])[0].lower()
        if "uris" not in values or enabled in ("no", "false", "0"):
            continue
        rest = "".join(f"{name}:{value}\n" for name, value in fields if name.lower() != "types")
        uris = {uri.rstrip("/") for uri in values["uris"]}
        entries.append((".sources", f"Types: deb-src\n{rest}\n", uris))
    return entries
