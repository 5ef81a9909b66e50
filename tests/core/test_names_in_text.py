"""Which names stand in a text: identifiers and file names, and what else can be asked for by name."""

from __future__ import annotations

import pytest

from core.names import is_file, names_in, names_in_order


def both(text: str) -> tuple[set[str], set[str]]:
    return names_in(text)


@pytest.mark.parametrize(
    "name",
    [
        "retryQueue", "LeaseTable", "HTTPServer", "lease_table", "LEASE_TABLE", "_lease_table", "abCd", "aBcd", "a_bc",
        "aB" * 40, "lease.py", "go.mod", "test-lease.go", "a1.c",
    ],
)  # fmt: skip
def test_an_identifier_or_a_file_name(name: str) -> None:
    assert name in both(f"the {name}, as it stands")[0]


@pytest.mark.parametrize(
    "name",
    [
        "8108", "12345", "9" * 80, "a1b2c3d", "0" * 40, "1.2.3", "v1.2.3", "os.path", "retry-queue", "a1-queue",
        "retry-queue2", "--dry-run", "--abcd",
        "--" + "a" * 80, "src/lease", "ab/c", "a/" * 79 + "bc", "a" * 78 + "-b",
    ],
)  # fmt: skip
def test_what_else_can_be_asked_for_by_name(name: str) -> None:
    assert name in both(f"the {name} as it stands")[1]


@pytest.mark.parametrize(
    "text",
    [
        "", "Lease", "lease", "LEASE", "abC", "a_b", "aB" * 40 + "c", "1abCd", "__init__", "_abc", "_1_2", "_____",
        # numbers: short ones are counts, hexadecimal ones without a digit are words
        "123", "9" * 81, "a1b2c3", "abcdefa", "1.2",
        # joined
        "a.b", "10.25", "Retry-Queue", "retry-2", "retry-2x", "1a-queue", "-retry-", "i.e.", "a" * 79 + "-b",
        "--abc", "--" + "a" * 81, "--1234x", "--1abcd", "a/b", "12/34", "a/" * 79 + "bcd",
        # files of no kind known, or with a number alone
        ".go", "12.go",
    ],
)  # fmt: skip
def test_no_name(text: str) -> None:
    assert both(f"the {text} as it stands") == (set(), set())


@pytest.mark.parametrize("product", ["GitHub", "TypeScript", "macOS"])
def test_a_product_can_be_asked_for_and_is_no_identifier(product: str) -> None:
    assert names_in(f"push it to {product}, then call to{product}Url") == ({f"to{product}Url"}, {product})


def test_a_file_of_no_known_kind_is_joined_words() -> None:
    assert both("main.unknown") == (set(), {"main.unknown"})
    assert [is_file(path) for path in ("a/main.go", "main.go", "main.unknown", "main", "a/12.go", "go", "a.go/b")] == [
        *(True, True, False, False, False, False, False)
    ]
    assert is_file("x" * 77 + ".go")
    assert not is_file("x" * 78 + ".go")
    assert not is_file("a/.go")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("core/leaseTable.py", ["core/leaseTable.py", "leaseTable.py"]),
        ("core/lease-table.test.py", ["core/lease-table.test.py", "lease-table.test.py"]),
        ("core/leaseTable-old.py", ["core/leaseTable-old.py", "leaseTable-old.py", "leaseTable"]),
        ("LeaseTable.findAll()", ["LeaseTable.findAll", "LeaseTable", "findAll"]),
        ("leaseTable.test.py", ["leaseTable.test.py", "leaseTable"]),
        ("main.go-12-func", ["main.go"]),
        ("main.go-7-func", ["main.go"]),
        ("cmd/main.go-12-func", ["cmd/main.go", "main.go"]),
        ("x-y-main.go-12", ["x-y-main.go"]),
        ("lease-main.go-old", []),
        ("--retryQueue", ["--retryQueue", "retryQueue"]),
        ("./src/lease/", ["src/lease"]),
        ('{"line": "one\\nLeaseTable\\tretryQueue\\rfindAll\\u2026"}', ["LeaseTable", "retryQueue", "findAll", "2026"]),
        ("findAll, LeaseTable; findAll", ["findAll", "LeaseTable"]),
        ("8108 8108 abCd 8108", ["8108", "abCd"]),
    ],
)  # fmt: skip
def test_the_names_of_a_text_in_their_order(text: str, names: list[str]) -> None:
    assert [name for name, _ in names_in_order(text)] == names


def test_of_a_listing_the_first_five_thousand() -> None:
    listed = [f"nameNumber{number}x" for number in range(6000)]
    assert [name for name, _ in names_in_order(" ".join(listed))] == listed[:5000]
    path = "/".join(listed)
    assert [name for name, _ in names_in_order(path)] == listed[:5000]


def test_a_text_that_is_read_again_tells_the_same() -> None:
    text = " ".join(f"leaseTable{number}" for number in range(4000))
    for _ in range(20):
        text = text.replace("leaseTable", "leaseTablex")
        found = [name for name, _ in names_in_order(text)]
        assert len(found) == 4000
        assert found == [name for name, _ in names_in_order(text)]
