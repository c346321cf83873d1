"""Package sources of a machine turned into deb-src, in both formats that Debian uses."""

from apt_sources import source_entries


def test_one_line_format(tree):
    etc = tree({
        "sources.list": "# deb http://a.example/debian old main\n"
                        "deb cdrom:[Debian 12]/ bookworm main\n"
                        "deb http://a.example/debian/ bookworm main contrib # comment\n"
                        "deb-src http://a.example/debian/ bookworm main contrib\n",
        "sources.list.d/b.list":
            "  deb [arch=amd64 signed-by=/k.gpg] https://b.example/x bookworm main\n",
        "sources.list.d/c.list.disabled": "deb http://c.example/debian bookworm main\n",
    })
    assert source_entries(etc) == [
        (".list", "deb-src http://a.example/debian/ bookworm main contrib\n",
         {"http://a.example/debian"}),
        (".list", "deb-src [arch=amd64 signed-by=/k.gpg] https://b.example/x bookworm main\n",
         {"https://b.example/x"}),
    ]


def test_deb822_format(tree):
    etc = tree({"sources.list.d/debian.sources": """\
Types: deb deb-src
# a comment within
URIs: http://a.example/debian/
  http://b.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEXample
 -----END PGP PUBLIC KEY BLOCK-----

# a paragraph of comments only

Enabled: no
Types: deb
URIs: http://c.example/debian
Suites: bookworm

types: deb
uris: http://d.example/security
suites: bookworm-security
components: main
"""})
    assert source_entries(etc) == [
        (".sources", """\
Types: deb-src
URIs: http://a.example/debian/
  http://b.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEXample
 -----END PGP PUBLIC KEY BLOCK-----

""", {"http://a.example/debian", "http://b.example/debian"}),
        (".sources", """\
Types: deb-src
uris: http://d.example/security
suites: bookworm-security
components: main

""", {"http://d.example/security"}),
    ]


def test_no_sources(tree):
    assert source_entries(tree({})) == []
