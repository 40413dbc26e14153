"""Files of the workspace, read and written by the host in spite of what a program put there."""

import pytest

from execgym.sandbox import SandboxFileError, run_sync

MIB = 1024 * 1024


def write(sandbox, path, data=b""):
    run_sync(sandbox.write_file(path, data))


def read(sandbox, path, **options):
    return run_sync(sandbox.read_file(path, **options))


def run(sandbox, code):
    result = run_sync(sandbox.run_python(code))
    assert result.ok, result.stderr
    return result


@pytest.mark.parametrize("data", [b"", b"text\n", bytes(range(256)) * 1000])
def test_a_file_comes_back_as_it_was_written(sandbox, data):
    write(sandbox, "a", data)
    assert read(sandbox, "a") == data


def test_a_program_sees_a_written_file_and_may_change_it(sandbox):
    write(sandbox, "a", b"one")
    run(sandbox, "assert open('a').read() == 'one'\nopen('a', 'a').write(' two')")
    assert read(sandbox, "a") == b"one two"


def test_writing_again_replaces_all_of_a_file(sandbox):
    write(sandbox, "a", b"a long one")
    write(sandbox, "a", b"short")
    assert read(sandbox, "a") == b"short"


def test_folders_are_made_on_the_way(sandbox):
    write(sandbox, "a/b/c.txt", b"deep")
    write(sandbox, "a/b/d.txt", b"")
    assert run_sync(sandbox.list_files()) == ("a/b/c.txt", "a/b/d.txt")


def test_a_path_may_be_given_with_the_workspace_before_it(sandbox):
    write(sandbox, "/workspace/a", b"x")
    assert read(sandbox, "a") == b"x"


@pytest.mark.parametrize("name", ["-rf", "a b", "é漢🎉", "a\nb", "*", "x" * 255, "~", ".hidden"])
def test_strange_names_are_names(sandbox, name):
    write(sandbox, name, b"x")
    assert read(sandbox, name) == b"x"
    assert run_sync(sandbox.list_files()) == (name,)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../b",
        "a/..",
        "/etc/passwd",
        "/",
        "/workspace",
        "/workspace/",
        "/workspace/../etc/passwd",
        "a//b",
        "a/",
        "a\0b",
        "\ud800",
        "x" * 256,
        "x/" * 3000 + "x",
        "/workspacex/a",
    ],
)
def test_a_path_that_is_none_below_the_workspace_is_refused(sandbox, path):
    for call in (sandbox.write_file(path, b""), sandbox.read_file(path)):
        with pytest.raises(SandboxFileError):
            run_sync(call)
    assert run_sync(sandbox.list_files()) == ()


def test_a_missing_file_is_said_to_be_missing(sandbox):
    with pytest.raises(SandboxFileError, match=r"nothing: No such file"):
        read(sandbox, "nothing")
    with pytest.raises(SandboxFileError, match=r"no/such: No such file"):
        read(sandbox, "no/such")


def test_a_folder_is_no_file(sandbox):
    write(sandbox, "folder/a")
    with pytest.raises(SandboxFileError):
        read(sandbox, "folder")
    with pytest.raises(SandboxFileError):
        write(sandbox, "folder", b"x")


def test_a_file_is_no_folder(sandbox):
    write(sandbox, "a")
    with pytest.raises(SandboxFileError):
        write(sandbox, "a/b")


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "real", "/proc/1/environ", "/proc/self/mem", "loop"]
)
def test_links_are_not_followed(sandbox, target):
    write(sandbox, "real", b"untouched")
    run(sandbox, f"import os\nos.symlink({target!r}, 'loop')")
    with pytest.raises(SandboxFileError):
        read(sandbox, "loop")
    with pytest.raises(SandboxFileError):
        write(sandbox, "loop", b"x")
    assert read(sandbox, "real") == b"untouched"


@pytest.mark.parametrize("target", ["/etc", "/", "real", "/proc/self/root/workspace/real"])
def test_linked_folders_are_not_entered(sandbox, target):
    write(sandbox, "real/a", b"untouched")
    run(sandbox, f"import os\nos.symlink({target!r}, 'folder')")
    for path in ("folder/a", "folder/passwd", "folder/etc/passwd"):
        with pytest.raises(SandboxFileError):
            read(sandbox, path)
        with pytest.raises(SandboxFileError):
            write(sandbox, path, b"x")
    assert run_sync(sandbox.list_files()) == ("real/a",)


@pytest.mark.parametrize(
    "making",
    [
        "os.mkfifo('x')",
        "socket.socket(socket.AF_UNIX).bind('x')",
        "os.mkdir('x')",
        "os.symlink('/dev/zero', 'x')",
    ],
)
def test_what_is_no_regular_file_is_refused_at_once(sandbox, making):
    run(sandbox, f"import os, socket\n{making}")
    with pytest.raises(SandboxFileError):
        read(sandbox, "x")
    with pytest.raises(SandboxFileError):
        write(sandbox, "x", b"data")
    assert run_sync(sandbox.list_files()) == ()


def test_devices_cannot_even_be_made(sandbox):
    code = """
import os, stat
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod('x', kind | 0o666, os.makedev(1, 5))
    except PermissionError:
        print('refused')
"""
    assert run(sandbox, code).stdout == b"refused\nrefused\n"


def test_a_sparse_terabyte_is_refused_and_not_read(open_one):
    sandbox = open_one(file_bytes=2**44)
    run(sandbox, "open('sparse', 'wb').truncate(2**40)")
    with pytest.raises(SandboxFileError, match="larger than"):
        read(sandbox, "sparse")


def test_a_file_just_as_large_as_asked_for_is_read(sandbox):
    write(sandbox, "a", b"12345")
    assert read(sandbox, "a", max_bytes=5) == b"12345"
    with pytest.raises(SandboxFileError, match="larger than 4 bytes"):
        read(sandbox, "a", max_bytes=4)


@pytest.mark.parametrize("most", [-1, True, 1.5, 2**40, None])
def test_an_impossible_bound_of_reading_is_refused(sandbox, most):
    with pytest.raises(ValueError, match="max_bytes"):
        read(sandbox, "a", max_bytes=most)


def test_large_files_pass_both_ways(sandbox):
    data = bytes(range(256)) * (32 * MIB // 256)
    write(sandbox, "big", data)
    assert read(sandbox, "big", max_bytes=32 * MIB) == data


def test_more_than_one_write_holds_is_refused(sandbox):
    with pytest.raises(SandboxFileError, match="more than"):
        write(sandbox, "a", bytes(64 * MIB + 1))
    assert run_sync(sandbox.run_python("print(1)")).ok


def test_writing_into_a_full_workspace_is_a_file_error(open_one):
    sandbox = open_one(workspace_bytes=MIB)
    with pytest.raises(SandboxFileError, match="No space left"):
        write(sandbox, "a", bytes(2 * MIB))
    sandbox = open_one(workspace_inodes=16)
    with pytest.raises(SandboxFileError, match="No space left"):
        write(sandbox, "/".join("x" * 20), b"")
    assert run_sync(sandbox.run_python("print(1)")).ok


def test_a_workspace_that_was_filled_can_still_be_read(open_one):
    sandbox = open_one(workspace_bytes=MIB)
    write(sandbox, "kept", b"kept")
    run_sync(sandbox.run_python("open('fill', 'wb').write(bytes(5_000_000))"))
    assert read(sandbox, "kept") == b"kept"
    assert "kept" in run_sync(sandbox.list_files())


def test_a_file_without_permissions_is_told(sandbox):
    run(sandbox, "import os\nopen('x', 'w').close()\nos.chmod('x', 0)")
    with pytest.raises(SandboxFileError, match="Permission denied"):
        read(sandbox, "x")


def test_a_workspace_without_permissions_does_no_harm(sandbox):
    write(sandbox, "a", b"x")
    run(sandbox, "import os\nos.chmod('/workspace', 0)")
    with pytest.raises(SandboxFileError):
        read(sandbox, "a")
    assert run_sync(sandbox.list_files()) == ()
    assert run_sync(sandbox.run_python("print(1)")).stdout == b"1\n"


def test_names_that_are_no_text_are_listed_and_can_be_told_apart(sandbox):
    run(sandbox, r"for name in (b'\xff', b'\xfe.txt', b'a'): open(name, 'w').close()")
    assert run_sync(sandbox.list_files()) == ("a", "\udcfe.txt", "\udcff")


def test_a_deep_tree_can_be_listed(sandbox):
    code = """
import os
for _ in range(1500):
    os.mkdir('d')
    os.chdir('d')
open('leaf', 'w').close()
"""
    run(sandbox, code)
    files = run_sync(sandbox.list_files())
    assert files == ("d/" * 1500 + "leaf",)


def test_a_tree_deeper_than_any_path_does_no_harm(sandbox):
    code = """
import os
for _ in range(5000):
    os.mkdir('d')
    os.chdir('d')
open('leaf', 'w').close()
"""
    run(sandbox, code)
    write(sandbox, "top", b"x")
    assert "top" in run_sync(sandbox.list_files())


def test_too_many_files_to_list_are_an_error_and_no_harm(open_one):
    sandbox = open_one(workspace_inodes=20_000)
    run(sandbox, "for n in range(10_000): open(str(n), 'w').close()")
    with pytest.raises(SandboxFileError, match="more than"):
        run_sync(sandbox.list_files())
    assert read(sandbox, "77") == b""


def test_hard_links_and_renames_are_files(sandbox):
    write(sandbox, "a", b"x")
    run(sandbox, "import os\nos.link('a', 'b')\nos.rename('a', 'c')")
    assert run_sync(sandbox.list_files()) == ("b", "c")


def test_files_outside_the_workspace_are_not_listed(sandbox):
    run(sandbox, "open('/tmp/t', 'w').close()\nopen('/dev/shm/s', 'w').close()")
    assert run_sync(sandbox.list_files()) == ()


def test_a_swap_of_folder_and_link_while_reading_never_leads_out(sandbox):
    code = """
import os
os.makedirs('real', exist_ok=True)
open('real/passwd', 'w').write('inside')
os.symlink('/etc', 'link')
while True:
    os.rename('real', 'x'); os.rename('link', 'real')
    os.rename('real', 'link'); os.rename('x', 'real')
"""

    async def main():
        process = await sandbox.start_python(code)
        seen = set()
        for _ in range(300):
            try:
                seen.add(await sandbox.read_file("real/passwd"))
            except SandboxFileError:
                seen.add(b"")
        await process.kill()
        return seen

    assert run_sync(main()) <= {b"", b"inside"}


@pytest.mark.parametrize(
    "damage",
    [
        "os.rmdir('/sandbox/workspace')",
        "os.rename('/sandbox/workspace', '/sandbox/x')",
        "os.rename('/sandbox/tmp', '/sandbox/workspace')",
        "os.chmod('/sandbox', 0)",
        "os.chmod('/tmp', 0)",
    ],
)
def test_a_program_that_takes_its_workspace_apart_harms_itself_only(sandbox, damage):
    run(sandbox, f"import os\n{damage}")
    try:
        write(sandbox, "a", b"x")
        assert read(sandbox, "a") == b"x"
    except SandboxFileError:
        pass
    assert run_sync(sandbox.run_python("print(1)")).stdout == b"1\n"
    assert run_sync(sandbox.stats()).processes == 1
