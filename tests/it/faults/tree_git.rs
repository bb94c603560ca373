//! Hostile trees in git's own files: where `.git` and HEAD point to, and what the objects are.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tree_gen::{Outside, Tree, create_pipe, rand};

fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "gc.auto=0", "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    command.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with two commits by `author`.
pub(super) fn git_repository(folder: &Path, author: &str) {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q", "-b", "main"], b"");
    for text in ["def first():\n    return 1\n", "def first():\n    return 2\n"] {
        fs::write(folder.join("history.py"), text).unwrap();
        git(folder, &["add", "-A"], b"");
        git(
            folder,
            &["commit", "-q", "-m", "change", &format!("--author={author} <{author}@example.com>")],
            b"",
        );
    }
}

/// Commits `tree`, an id that `git mktree` printed, and points the main branch to the commit.
fn commit_tree(root: &Path, tree: &str) {
    let commit = git(root, &["commit-tree", tree, "-m", "tree"], b"");
    git(root, &["update-ref", "refs/heads/main", &commit], b"");
}

/// Trees whose `.git` or HEAD points to the wrong place.
pub(super) fn git_pointers() -> Vec<Tree> {
    let pointer = |label: &str, write: fn(&Path, &Outside)| Tree::new(format!("git: {label}"), write);
    vec![
        pointer(".git names another repository", |root, outside| {
            fs::write(root.join(".git"), format!("gitdir: {}\n", outside.path("git/.git").display()))
                .unwrap();
        }),
        pointer(".git names itself", |root, _| fs::write(root.join(".git"), "gitdir: .git\n").unwrap()),
        pointer(".git names /etc", |root, _| fs::write(root.join(".git"), "gitdir: /etc\n").unwrap()),
        pointer(".git names 10 MB", |root, _| {
            fs::write(root.join(".git"), format!("gitdir: {}\n", "../".repeat(3_000_000))).unwrap();
        }),
        pointer(".git is a link", |root, outside| {
            symlink(outside.path("git/.git"), root.join(".git")).unwrap()
        }),
        pointer("a work tree of a repository that does not know it", |root, outside| {
            let git_folder = root.join("own");
            fs::create_dir(&git_folder).unwrap();
            fs::write(root.join(".git"), "gitdir: own\n").unwrap();
            fs::write(git_folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(git_folder.join("commondir"), format!("{}\n", outside.path("git/.git").display()))
                .unwrap();
            fs::write(git_folder.join("gitdir"), format!("{}\n", root.join(".git").display())).unwrap();
        }),
        pointer("alternates of another repository", |root, outside| {
            git_repository(root, "Ada");
            let objects = format!("{}\n", outside.path("git/.git/objects").display());
            fs::write(root.join(".git/objects/info/alternates"), objects).unwrap();
            let head = git(&outside.path("git"), &["rev-parse", "HEAD"], b"");
            fs::write(root.join(".git/refs/heads/main"), format!("{head}\n")).unwrap();
            fs::copy(outside.path("git/history.py"), root.join("history.py")).unwrap();
        }),
        pointer("objects are a link", |root, outside| {
            git_repository(root, "Ada");
            fs::remove_dir_all(root.join(".git/objects")).unwrap();
            symlink(outside.path("git/.git/objects"), root.join(".git/objects")).unwrap();
        }),
        pointer("HEAD in a circle", |root, _| {
            git_repository(root, "Ada");
            fs::write(root.join(".git/refs/heads/main"), "ref: refs/heads/two\n").unwrap();
            fs::write(root.join(".git/refs/heads/two"), "ref: refs/heads/main\n").unwrap();
        }),
        pointer("HEAD names /etc/passwd", |root, _| {
            git_repository(root, "Ada");
            fs::write(root.join(".git/HEAD"), "ref: refs/../../../../../../etc/passwd\n").unwrap();
        }),
        pointer("a repository in each of 300 directories", |root, _| {
            for n in 0..300 {
                let nested = root.join(format!("n{n}"));
                fs::create_dir_all(nested.join(".git/info")).unwrap();
                create_pipe(&nested.join(".git/HEAD"));
                create_pipe(&nested.join(".git/info/exclude"));
                fs::write(nested.join("a.py"), format!("def a{n}(): pass\n")).unwrap();
            }
        }),
    ]
}

/// Writes a loose object: `header`, then `block` repeated `times` times.
fn write_loose_object(root: &Path, id: &str, header: &str, block: &[u8], times: usize) {
    let folder = root.join(".git/objects").join(&id[..2]);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(&id[2..]);
    let _ = fs::remove_file(&path);
    let file = fs::File::create(path).unwrap();
    let mut packed = flate2::write::ZlibEncoder::new(file, flate2::Compression::fast());
    write!(packed, "{header}\0").unwrap();
    for _ in 0..times {
        packed.write_all(block).unwrap();
    }
    packed.finish().unwrap();
}

/// Trees with hostile git objects.
#[expect(clippy::too_many_lines, reason = "a list of cases")]
pub(super) fn git_objects() -> Vec<Tree> {
    let with_objects = |label: &str, make: fn(&Path)| {
        Tree::new(format!("git: {label}"), move |root, _| {
            git_repository(root, "Ada");
            make(root);
        })
    };
    const NEWLINES: &[u8] = &[b'\n'; 1 << 20];
    vec![
        with_objects("the commit unpacks to 512 MB and says 2 GB", |root| {
            let id = git(root, &["rev-parse", "HEAD"], b"");
            write_loose_object(root, &id, "commit 2147483648", NEWLINES, 512);
        }),
        with_objects("the commit unpacks to 512 MB and says 200 bytes", |root| {
            let id = git(root, &["rev-parse", "HEAD"], b"");
            write_loose_object(root, &id, "commit 200", NEWLINES, 512);
        }),
        with_objects("a blob says that it has 2^63 bytes", |root| {
            let id = git(root, &["rev-parse", "HEAD:history.py"], b"");
            write_loose_object(root, &id, "blob 9223372036854775807", b"x\n", 10);
        }),
        with_objects("a tree of 64 MB that is text", |root| {
            let id = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            write_loose_object(root, &id, "tree 67108864", NEWLINES, 64);
        }),
        with_objects("ten objects are the trees of ten billion files", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"bomb\n");
            let mut tree_entry = format!("100644 blob {blob}");
            for _ in 0..10 {
                let entries: String = (0..10).map(|n| format!("{tree_entry}\td{n}\n")).collect();
                tree_entry = format!("040000 tree {}", git(root, &["mktree"], entries.as_bytes()));
            }
            commit_tree(root, tree_entry.rsplit(' ').next().unwrap());
        }),
        with_objects("trees nested 1,900 deep", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"deep\n");
            // As one pack, because writing one loose file each would take long.
            let mut input =
                String::from("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n");
            input.push_str(&format!("M 100644 {blob} {}leaf\n", "d/".repeat(1900)));
            git(root, &["fast-import", "--quiet", "--force"], input.as_bytes());
        }),
        with_objects("a commit with 100,000 parents", |root| {
            let tree = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            let parent = git(root, &["rev-parse", "HEAD"], b"");
            let mut text = format!("tree {tree}\n");
            text.push_str(&format!("parent {parent}\n").repeat(100_000));
            text.push_str("author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\n");
            let id =
                git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
            fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
        }),
        with_objects("an author's name of 5 MB with control characters", |root| {
            let tree = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            let signature =
                format!("\u{1b}]0;x\u{7}{} <a@b> 1700000000 +0000", "\u{202e}n".repeat(1_000_000));
            let text = format!("tree {tree}\nauthor {signature}\ncommitter {signature}\n\nx\n");
            let id =
                git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
            fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
        }),
        with_objects("a truncated pack", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "pack") {
                let bytes = fs::read(&pack).unwrap();
                replace_file(&pack, &bytes[..bytes.len() / 2]);
            }
        }),
        with_objects("a truncated index of a pack", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "idx") {
                let bytes = fs::read(&pack).unwrap();
                replace_file(&pack, &bytes[..bytes.len() - 30]);
            }
        }),
        with_objects("offsets of a pack's index lead anywhere", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "idx") {
                let mut bytes = fs::read(&pack).unwrap();
                // After the ids and checksums come the offsets, then two trailing hashes.
                let end = bytes.len() - 40;
                for (index, byte) in bytes[end - 24..end].iter_mut().enumerate() {
                    *byte = (rand(index as u64) & 0x7f) as u8;
                }
                replace_file(&pack, &bytes);
            }
        }),
        with_objects("a pack of random bytes", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "pack") {
                let mut bytes = fs::read(&pack).unwrap();
                let end = bytes.len() - 20;
                for (index, byte) in bytes[12..end].iter_mut().enumerate() {
                    *byte = rand(index as u64) as u8;
                }
                replace_file(&pack, &bytes);
            }
        }),
        with_objects("an object in a pack is a delta of itself", delta_cycle),
        with_objects("a commit-graph whose parents do not exist", |root| {
            git(root, &["commit-graph", "write", "--reachable"], b"");
            let path = root.join(".git/objects/info/commit-graph");
            let mut bytes = fs::read(&path).unwrap();
            let data = chunk_offset(&bytes, b"CDAT");
            // Each commit has its tree, then the positions of two parents.
            for commit in 0..2 {
                let parents = data + commit * 36 + 20;
                bytes[parents..parents + 4].copy_from_slice(&0x00ff_ffff_u32.to_be_bytes());
            }
            replace_file(&path, &bytes);
        }),
        with_objects("a commit-graph that is cut off", |root| {
            git(root, &["commit-graph", "write", "--reachable"], b"");
            let path = root.join(".git/objects/info/commit-graph");
            let bytes = fs::read(&path).unwrap();
            replace_file(&path, &bytes[..bytes.len() - 60]);
        }),
        with_objects("a mailmap of 60,000 lines", |root| {
            let lines: String = (0..60_000).map(|n| format!("N{n} <x> <m{n}@b>\n")).collect();
            fs::write(root.join(".mailmap"), lines).unwrap();
            git(root, &["add", "-A"], b"");
            git(root, &["commit", "-q", "-m", "mailmap"], b"");
        }),
        with_objects("names in a tree that lead outside", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"out\n");
            let mut tree = Vec::new();
            for name in ["..", ".git", "a/../../b", "", "found.py"] {
                tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
                tree.extend(
                    (0..20).map(|index| u8::from_str_radix(&blob[2 * index..2 * index + 2], 16).unwrap()),
                );
            }
            let tree = git(root, &["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], &tree);
            commit_tree_literally(root, &tree);
        }),
    ]
}

fn commit_tree_literally(root: &Path, tree: &str) {
    let signature = "A <a@b> 1700000000 +0000";
    let text = format!("tree {tree}\nauthor {signature}\ncommitter {signature}\n\nx\n");
    let id = git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
    fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
}

fn packs(root: &Path, extension: &str) -> Vec<PathBuf> {
    let folder = root.join(".git/objects/pack");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Replaces a file of git, which is read-only.
fn replace_file(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Offset of a chunk of a commit-graph. Each entry of the table of contents has an id and an offset.
fn chunk_offset(bytes: &[u8], id: &[u8; 4]) -> usize {
    let mut entry = 8;
    while &bytes[entry..entry + 4] != id {
        entry += 12;
    }
    usize::try_from(u64::from_be_bytes(bytes[entry + 4..entry + 12].try_into().unwrap())).unwrap()
}

/// Makes HEAD an object that a pack stores as a delta of itself.
fn delta_cycle(root: &Path) {
    let head = git(root, &["rev-parse", "HEAD"], b"");
    let id: Vec<u8> =
        (0..20).map(|index| u8::from_str_radix(&head[2 * index..2 * index + 2], 16).unwrap()).collect();
    let delta = [10, 10, 10, b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x', b'x'];
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&delta).unwrap();
    let packed = packed.finish().unwrap();
    // A pack of one object: a delta (kind 7) of the object with that id.
    let mut pack = Vec::from(*b"PACK\0\0\0\x02\0\0\0\x01");
    pack.push(0x70 | delta.len() as u8);
    pack.extend_from_slice(&id);
    pack.extend_from_slice(&packed);
    pack.extend_from_slice(&[0; 20]);
    let mut index = Vec::from(*b"\xfftOc\0\0\0\x02");
    for first in 0..=255_u16 {
        index.extend_from_slice(&u32::from(first >= u16::from(id[0])).to_be_bytes());
    }
    index.extend_from_slice(&id);
    index.extend_from_slice(&[0; 4]);
    index.extend_from_slice(&12_u32.to_be_bytes());
    index.extend_from_slice(&[0; 40]);
    let objects = root.join(".git/objects");
    fs::remove_file(objects.join(&head[..2]).join(&head[2..])).unwrap();
    fs::write(objects.join(format!("pack/pack-{}.pack", "1".repeat(40))), pack).unwrap();
    fs::write(objects.join(format!("pack/pack-{}.idx", "1".repeat(40))), index).unwrap();
}
