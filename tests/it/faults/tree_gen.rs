//! Trees that strangers made: what they can put in place of a repository's files and of git's.
//!
//! Each [`Tree`] is one hostile thing, in a repository that otherwise has a file to find. Nothing here is random but what a
//! seed decides, so that a failure can be made again.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

/// One hostile tree.
pub(crate) struct Tree {
    /// What is hostile about it.
    pub(crate) name: String,
    /// Whether it is large, and better has a project of its own.
    pub(crate) alone: bool,
    make: Box<dyn Fn(&Path, &Outside) + Send + Sync>,
}

impl Tree {
    fn new(name: impl Into<String>, make: impl Fn(&Path, &Outside) + Send + Sync + 'static) -> Self {
        Self { name: name.into(), alone: false, make: Box::new(make) }
    }

    /// Makes it in an empty directory.
    pub(crate) fn make(&self, root: &Path, outside: &Outside) {
        fs::write(root.join("found.py"), "def found_in_every_tree(coin):\n    return coin\n").unwrap();
        (self.make)(root, outside);
    }
}

/// What lies beside the roots and must never come into the database: a directory with a canary in every file.
pub(crate) struct Outside {
    folder: tempfile::TempDir,
    pub(crate) canary: String,
}

impl Outside {
    pub(crate) fn new() -> Self {
        let canary = format!("canary{}{}", std::process::id(), rand(u64::from(std::process::id())));
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("secret.py", format!("def {canary}():\n    return '{canary}'\n"));
        write("rules", "*.py\n".to_owned());
        write("mailmap", format!("{canary} <ada@example.com>\n"));
        write("manifest.json", format!("{{\"project_id\": \"{canary}\"}}\n"));
        write("deep/secret.py", format!("def {canary}_deep():\n    return '{canary}'\n"));
        let outside = Self { folder, canary };
        git_repository(outside.path("git").as_path(), &outside.canary);
        outside
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }
}

/// The next number of a sequence that a seed begins.
pub(crate) fn rand(seed: u64) -> u64 {
    // SplitMix64.
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn git(at: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "gc.auto=0", "-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
    command.args(arguments).current_dir(at).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with two commits by `author`.
fn git_repository(at: &Path, author: &str) {
    fs::create_dir_all(at).unwrap();
    git(at, &["init", "-q", "-b", "main"], b"");
    for text in ["def first():\n    return 1\n", "def first():\n    return 2\n"] {
        fs::write(at.join("history.py"), text).unwrap();
        git(at, &["add", "-A"], b"");
        git(at, &["commit", "-q", "-m", "change", &format!("--author={author} <{author}@example.com>")], b"");
    }
}

/// Makes `tree`, as `git mktree` reads it, the tree of a commit that HEAD is at.
fn commit_tree(root: &Path, tree: &str) {
    let commit = git(root, &["commit-tree", tree, "-m", "tree"], b"");
    git(root, &["update-ref", "refs/heads/main", &commit], b"");
}

/// Puts something in the place of a file.
type Replacement = fn(&Path, &Outside);

/// What can stand in the place of any file.
const REPLACEMENTS: &[(&str, Replacement)] = &[
    ("a link to /dev/zero", |path, _| symlink("/dev/zero", path).unwrap()),
    ("a link to /etc/passwd", |path, _| symlink("/etc/passwd", path).unwrap()),
    ("a link to a file outside", |path, outside| symlink(outside.path("secret.py"), path).unwrap()),
    ("a link to a directory outside", |path, outside| symlink(outside.path("deep"), path).unwrap()),
    ("a link to itself", |path, _| symlink(path.file_name().unwrap(), path).unwrap()),
    ("a pipe", |path, _| pipe(path)),
    ("a socket", |path, _| socket(path)),
    ("a directory", |path, _| fs::create_dir(path).unwrap()),
    ("a device", |path, _| device(path)),
    ("26 MB", |path, _| fs::write(path, "pattern-of-many/*.x\n".repeat(1_300_000)).unwrap()),
    ("one line of 10 MB", |path, _| fs::write(path, "a".repeat(10_000_000)).unwrap()),
    ("a sparse file of 1 TB", |path, _| {
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    }),
    ("nothing but NUL", |path, _| fs::write(path, vec![0; 4000]).unwrap()),
];

/// What is read by name: ignore files, git's files, ours, and what carries meaning for other tools.
const PLACES: &[&str] = &[
    ".gitignore",
    "sub/.gitignore",
    ".pairofcleatsignore",
    ".git/info/exclude",
    ".git/HEAD",
    ".git/config",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/shallow",
    ".git/index",
    ".git/commondir",
    ".git/objects/info/commit-graph",
    ".git/objects/info/alternates",
    ".git/objects/pack/pack-1.pack",
    ".git/objects/pack/pack-1.idx",
    ".git/objects/pack/multi-pack-index",
    ".pairofcleats.json",
    ".mailmap",
    "README.md",
    "package.json",
    "Cargo.toml",
    "CODEOWNERS",
    "CACHEDIR.TAG",
    "sub/pyvenv.cfg",
    "sub/CACHEDIR.TAG",
    "vendor/modules.txt",
    "coverage.xml",
    "words.txt",
    "page.md",
    "code.rs",
];

fn pipe(path: &Path) {
    mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

fn socket(path: &Path) {
    // Bound by a short name: an address has at most 108 bytes. The file outlives its socket.
    let short = tempfile::tempdir_in("/tmp").unwrap();
    let _socket = UnixListener::bind(short.path().join("s")).unwrap();
    fs::rename(short.path().join("s"), path)
        .or_else(|_| {
            let own = path.parent().unwrap().join(".s");
            UnixListener::bind(&own).and_then(|_| fs::rename(&own, path))
        })
        .unwrap();
}

/// `/dev/zero` itself where that is allowed, else a pipe.
fn device(path: &Path) {
    let mode = Mode::from_raw_mode(0o666);
    if mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 5)).is_err() {
        pipe(path);
    }
}

/// Every place with everything in its place.
fn replaced() -> Vec<Tree> {
    let mut trees = Vec::new();
    for (what, replace) in REPLACEMENTS {
        trees.push(Tree::new(format!("{what} everywhere"), move |root, outside| {
            for place in PLACES.iter().filter(|place| !place.starts_with(".git/")) {
                put(root, place, outside, *replace);
            }
        }));
    }
    for place in PLACES.iter().filter(|place| place.starts_with(".git/")) {
        for (what, replace) in REPLACEMENTS {
            trees.push(Tree::new(format!("{place} is {what}"), move |root, outside| {
                git_repository(root, "Ada");
                put(root, place, outside, *replace);
            }));
        }
    }
    trees
}

fn put(root: &Path, place: &str, outside: &Outside, replace: Replacement) {
    let path = root.join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    replace(&path, outside);
}

fn ignore_rules(long: bool) -> Vec<Tree> {
    let rules: [(&str, fn() -> String); 5] = [
        ("100,000 patterns", || (0..100_000).map(|n| format!("/dir{n}/**/x*\n")).collect()),
        ("stars without end", || format!("{}\n", "*a".repeat(500)).repeat(250)),
        ("double stars without end", || format!("{}b\n", "**/a*/".repeat(160)).repeat(250)),
        ("classes without end", || format!("{}\n", "[!a-y]*".repeat(140)).repeat(250)),
        ("braces and escapes", || format!("{}\n", "{a,b}\\*[]a-".repeat(90)).repeat(250)),
    ];
    let mut trees: Vec<Tree> = rules
        .into_iter()
        .map(|(what, text)| {
            Tree::new(format!("ignore rules: {what}"), move |root, _| {
                fs::create_dir_all(root.join("long")).unwrap();
                for n in 0..200 {
                    let name = format!("{}{n}.py", "za".repeat(100));
                    fs::write(root.join("long").join(name), format!("def f{n}(): pass\n")).unwrap();
                }
                fs::write(root.join(".gitignore"), text()).unwrap();
            })
        })
        .collect();
    trees.push(Tree::new("an ignore file in each of 60 nested directories", move |root, _| {
        // All that is taken of them together costs tens of seconds in a debug build.
        let rules = "*.tmp\nnode/**/deep\n".repeat(if long { 12_000 } else { 60 });
        let mut at = root.to_owned();
        for _ in 0..60 {
            fs::write(at.join(".gitignore"), &rules).unwrap();
            fs::write(at.join("a.py"), "def a(): pass\n").unwrap();
            at.push("d");
            fs::create_dir(&at).unwrap();
        }
    }));
    trees
}

fn git_pointers() -> Vec<Tree> {
    let pointer = |what: &str, write: fn(&Path, &Outside)| Tree::new(format!("git: {what}"), write);
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
            let own = root.join("own");
            fs::create_dir(&own).unwrap();
            fs::write(root.join(".git"), "gitdir: own\n").unwrap();
            fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(own.join("commondir"), format!("{}\n", outside.path("git/.git").display())).unwrap();
            fs::write(own.join("gitdir"), format!("{}\n", root.join(".git").display())).unwrap();
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
        pointer("HEAD in a circle, and out of the directory", |root, _| {
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
                pipe(&nested.join(".git/HEAD"));
                pipe(&nested.join(".git/info/exclude"));
                fs::write(nested.join("a.py"), format!("def a{n}(): pass\n")).unwrap();
            }
        }),
    ]
}

/// A loose object: `header`, then `times` times `block`.
fn loose(root: &Path, id: &str, header: &str, block: &[u8], times: usize) {
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

fn git_objects() -> Vec<Tree> {
    let bomb = |what: &str, make: fn(&Path)| {
        Tree::new(format!("git: {what}"), move |root, _| {
            git_repository(root, "Ada");
            make(root);
        })
    };
    const ZEROES: &[u8] = &[b'\n'; 1 << 20];
    vec![
        bomb("the commit unpacks to 512 MB and says 2 GB", |root| {
            let id = git(root, &["rev-parse", "HEAD"], b"");
            loose(root, &id, "commit 2147483648", ZEROES, 512);
        }),
        bomb("the commit unpacks to 512 MB and says 200 bytes", |root| {
            let id = git(root, &["rev-parse", "HEAD"], b"");
            loose(root, &id, "commit 200", ZEROES, 512);
        }),
        bomb("a blob says that it has 2^63 bytes", |root| {
            let id = git(root, &["rev-parse", "HEAD:history.py"], b"");
            loose(root, &id, "blob 9223372036854775807", b"x\n", 10);
        }),
        bomb("a tree of 64 MB that is text", |root| {
            let id = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            loose(root, &id, "tree 67108864", ZEROES, 64);
        }),
        bomb("ten objects are the trees of ten billion files", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"bomb\n");
            let mut below = format!("100644 blob {blob}");
            for _ in 0..10 {
                let entries: String = (0..10).map(|n| format!("{below}\td{n}\n")).collect();
                below = format!("040000 tree {}", git(root, &["mktree"], entries.as_bytes()));
            }
            commit_tree(root, below.rsplit(' ').next().unwrap());
        }),
        bomb("20,000 trees deep", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"deep\n");
            // As one pack: a loose file each would take long.
            let mut input =
                String::from("commit refs/heads/main\ncommitter A <a@b> 1700000000 +0000\ndata 1\nx\n");
            input.push_str(&format!("M 100644 {blob} {}leaf\n", "d/".repeat(1900)));
            git(root, &["fast-import", "--quiet", "--force"], input.as_bytes());
        }),
        bomb("a commit with 100,000 parents", |root| {
            let tree = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            let parent = git(root, &["rev-parse", "HEAD"], b"");
            let mut text = format!("tree {tree}\n");
            text.push_str(&format!("parent {parent}\n").repeat(100_000));
            text.push_str("author A <a@b> 1700000000 +0000\ncommitter A <a@b> 1700000000 +0000\n\nx\n");
            let id =
                git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
            fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
        }),
        bomb("an author's name of 5 MB with control characters", |root| {
            let tree = git(root, &["rev-parse", "HEAD^{tree}"], b"");
            let who = format!("\u{1b}]0;x\u{7}{} <a@b> 1700000000 +0000", "\u{202e}n".repeat(1_000_000));
            let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n");
            let id =
                git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
            fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
        }),
        bomb("a truncated pack", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "pack") {
                let bytes = fs::read(&pack).unwrap();
                replace(&pack, &bytes[..bytes.len() / 2]);
            }
        }),
        bomb("a truncated index of a pack", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "idx") {
                let bytes = fs::read(&pack).unwrap();
                replace(&pack, &bytes[..bytes.len() - 30]);
            }
        }),
        bomb("offsets of a pack's index lead anywhere", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "idx") {
                let mut bytes = fs::read(&pack).unwrap();
                // Behind the ids and checksums stand the offsets, before the two trailing hashes.
                let end = bytes.len() - 40;
                for (at, byte) in bytes[end - 24..end].iter_mut().enumerate() {
                    *byte = (rand(at as u64) & 0x7f) as u8;
                }
                replace(&pack, &bytes);
            }
        }),
        bomb("a pack of random bytes", |root| {
            git(root, &["repack", "-q", "-a", "-d"], b"");
            for pack in packs(root, "pack") {
                let mut bytes = fs::read(&pack).unwrap();
                let end = bytes.len() - 20;
                for (at, byte) in bytes[12..end].iter_mut().enumerate() {
                    *byte = rand(at as u64) as u8;
                }
                replace(&pack, &bytes);
            }
        }),
        bomb("an object in a pack is a delta of itself", |root| delta_cycle(root)),
        bomb("a commit-graph whose parents do not exist", |root| {
            git(root, &["commit-graph", "write", "--reachable"], b"");
            let path = root.join(".git/objects/info/commit-graph");
            let mut bytes = fs::read(&path).unwrap();
            let data = chunk_of(&bytes, b"CDAT");
            // Of each commit: its tree, then two parents by their place.
            for commit in 0..2 {
                let parents = data + commit * 36 + 20;
                bytes[parents..parents + 4].copy_from_slice(&0x00ff_ffff_u32.to_be_bytes());
            }
            replace(&path, &bytes);
        }),
        bomb("a commit-graph that is cut off", |root| {
            git(root, &["commit-graph", "write", "--reachable"], b"");
            let path = root.join(".git/objects/info/commit-graph");
            let bytes = fs::read(&path).unwrap();
            replace(&path, &bytes[..bytes.len() - 60]);
        }),
        bomb("a mailmap of a million lines", |root| {
            let lines: String = (0..60_000).map(|n| format!("N{n} <x> <m{n}@b>\n")).collect();
            fs::write(root.join(".mailmap"), lines).unwrap();
            git(root, &["add", "-A"], b"");
            git(root, &["commit", "-q", "-m", "mailmap"], b"");
        }),
        bomb("names in a tree that lead out", |root| {
            let blob = git(root, &["hash-object", "-w", "--stdin"], b"out\n");
            let mut tree = Vec::new();
            for name in ["..", ".git", "a/../../b", "", "found.py"] {
                tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
                tree.extend((0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap()));
            }
            let tree = git(root, &["hash-object", "-t", "tree", "-w", "--literally", "--stdin"], &tree);
            commit_tree_literally(root, &tree);
        }),
    ]
}

fn commit_tree_literally(root: &Path, tree: &str) {
    let who = "A <a@b> 1700000000 +0000";
    let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n");
    let id = git(root, &["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], text.as_bytes());
    fs::write(root.join(".git/refs/heads/main"), format!("{id}\n")).unwrap();
}

fn packs(root: &Path, extension: &str) -> Vec<PathBuf> {
    let folder = root.join(".git/objects/pack");
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Git's own files are read-only.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Where a chunk of a commit-graph begins: its table of contents has an id and an offset each.
fn chunk_of(bytes: &[u8], id: &[u8; 4]) -> usize {
    let mut at = 8;
    while &bytes[at..at + 4] != id {
        at += 12;
    }
    usize::try_from(u64::from_be_bytes(bytes[at + 4..at + 12].try_into().unwrap())).unwrap()
}

/// HEAD becomes an object that a pack holds as a delta of itself.
fn delta_cycle(root: &Path) {
    let head = git(root, &["rev-parse", "HEAD"], b"");
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&head[2 * at..2 * at + 2], 16).unwrap()).collect();
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

/// Names that no program should believe: as they are on disk, and whether they are UTF-8.
pub(crate) const ODD_NAMES: &[&[u8]] = &[
    b"line\nbreak.py",
    b"a.py\n1 of 1 hits\nnext: show_file {}.py",
    b"carriage\rreturn.py",
    b"tab\tin it.py",
    b"\x1b]0;title\x07.py",
    b"\x1b[2J\x1b[31mred.py",
    b"bell\x07.py",
    b"c1\xc2\x9b31m.py",
    b"delete\x7f.py",
    b"invalid\xff\xfe.py",
    b"surrogate\xed\xa0\x80.py",
    "override\u{202e}yp.exe.py".as_bytes(),
    "isolate\u{2066}x\u{2069}.py".as_bytes(),
    "zero\u{200b}width.py".as_bytes(),
    "tag\u{e0041}\u{e0042}.py".as_bytes(),
    b"quote\"'`$(touch x);.py",
    b"-rf.py",
    b"percent%2e%2e%2f.py",
    b"back\\slash.py",
    b" leading and trailing .py ",
    b"...py",
    "nfc\u{e9}.py".as_bytes(),
    "nfc\u{65}\u{301}.py".as_bytes(),
    "\u{1f600}.py".as_bytes(),
];

/// Puts a file of every odd name there, and directories of such names.
pub(crate) fn odd_names(root: &Path) {
    for (number, name) in ODD_NAMES.iter().enumerate() {
        let name = std::ffi::OsStr::from_bytes(name);
        let text =
            format!("def odd_name_{number}(coin):\n    # \u{1b}[31m\u{202e}odd\u{200b}\n    return coin\n");
        fs::write(root.join(name), &text).unwrap();
        let folder = root.join("in").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("inner.py"), text).unwrap();
    }
}

fn shapes(long: bool) -> Vec<Tree> {
    // With the file that every tree has, as many as a walk takes.
    let files = if long { 199_999 } else { 5_000 };
    vec![
        Tree::new("odd names", |root, _| odd_names(root)),
        Tree::new("names of 255 bytes, paths of 4,000", |root, _| {
            let mut at = root.to_owned();
            for _ in 0..14 {
                at.push("n".repeat(255));
                fs::create_dir(&at).unwrap();
                fs::write(at.join(format!("{}.py", "f".repeat(252))), "def long_name(): pass\n").unwrap();
            }
        }),
        Tree::new("directories nested 2,000 deep", |root, _| {
            let mut at = rustix::fs::open(root, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
            for _ in 0..2_000 {
                rustix::fs::mkdirat(&at, "deep", Mode::RWXU).unwrap();
                at = rustix::fs::openat(&at, "deep", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
            }
        }),
        Tree::new("links in circles and out of the root", |root, outside| {
            symlink(".", root.join("here")).unwrap();
            symlink("..", root.join("up")).unwrap();
            symlink("/", root.join("all")).unwrap();
            symlink("/proc/self/root", root.join("proc")).unwrap();
            symlink("/proc/self/mem", root.join("mem.py")).unwrap();
            symlink("two", root.join("one")).unwrap();
            symlink("one", root.join("two")).unwrap();
            symlink(outside.path("deep"), root.join("deep")).unwrap();
            symlink(outside.path("secret.py"), root.join("secret.py")).unwrap();
            symlink(outside.path("mailmap"), root.join(".mailmap")).unwrap();
            symlink(outside.path("manifest.json"), root.join(".pairofcleats.json")).unwrap();
            for n in 0..2_000 {
                symlink(format!("l{}", n + 1), root.join(format!("l{n}"))).unwrap();
            }
        }),
        Tree::new("sockets, pipes and devices among the files", |root, _| {
            for n in 0..50 {
                pipe(&root.join(format!("pipe{n}.py")));
                socket(&root.join(format!("socket{n}.py")));
                device(&root.join(format!("device{n}.py")));
            }
        }),
        Tree::new("sparse files of 1 TB", |root, _| {
            for n in 0..20 {
                fs::File::create(root.join(format!("sparse{n}.py"))).unwrap().set_len(1 << 40).unwrap();
            }
        }),
        Tree::new(format!("{files} tiny files"), move |root, _| {
            for n in 0..files {
                let folder = root.join(format!("d{}", n / 500));
                if n % 500 == 0 {
                    fs::create_dir(&folder).unwrap();
                }
                fs::write(folder.join(format!("f{n}.py")), format!("n = {n}\n")).unwrap();
            }
        }),
        Tree::new("20,000 empty directories and files", |root, _| {
            for n in 0..10_000 {
                fs::create_dir(root.join(format!("d{n}"))).unwrap();
                fs::write(root.join(format!("e{n}.py")), "").unwrap();
            }
        }),
        Tree::new("front matter without end", |root, _| {
            let nested = format!("---\na: {}\n---\n\n# Title\n\nText of it.\n", "[".repeat(50_000));
            fs::write(root.join("nested.md"), nested).unwrap();
            let mut laughs = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
            for n in 1..12 {
                let refs = vec![format!("*a{}", n - 1); 10].join(", ");
                laughs.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
            }
            laughs.push_str("---\n\n# Laughs\n\nText of it.\n");
            fs::write(root.join("laughs.md"), laughs).unwrap();
            let long: String = (0..60_000).map(|n| format!("k{n}: v\n")).collect();
            fs::write(root.join("long.md"), format!("---\n{long}---\n\n# Long\n\nText.\n")).unwrap();
            fs::write(root.join("toml.md"), format!("+++\n{}\n+++\n\n# T\n\nText.\n", "a.".repeat(30_000)))
                .unwrap();
            fs::write(root.join("open.md"), format!("---\n{}", "title: x\n".repeat(60_000))).unwrap();
        }),
        Tree::new("texts that cost", |root, _| {
            for (name, unit) in [
                ("a.json", "["),
                ("a.js", "(("),
                ("a.py", "[("),
                ("a.html", "<div>"),
                ("a.yaml", "- "),
                ("a.md", "> "),
                ("a.c", "{{"),
                ("a.rs", "a!("),
                ("a.sql", "(SELECT "),
                ("a.sh", "$(("),
            ] {
                fs::write(root.join(name), unit.repeat(900_000 / unit.len())).unwrap();
            }
            fs::write(root.join("one_line.txt"), "word ".repeat(200_000)).unwrap();
            fs::write(root.join("newlines.py"), "\n".repeat(1_000_000) + "x = 1\n").unwrap();
            fs::write(root.join("colours.txt"), "\u{1b}[31mred\u{1b}[0m\n".repeat(20_000)).unwrap();
        }),
    ]
}

/// Every tree. The short form leaves out three of four of git's files in their places, drawn anew for each `seed`, and makes
/// fewer files.
pub(crate) fn trees(long: bool, seed: u64) -> Vec<Tree> {
    let mut all = replaced();
    if !long {
        let mut number = seed;
        all.retain(|tree| {
            number = rand(number);
            !tree.name.starts_with(".git/") || number % 4 == 0
        });
    }
    all.extend(ignore_rules(long));
    all.extend(git_pointers());
    all.extend(git_objects());
    all.extend(shapes(long).into_iter().map(|tree| Tree { alone: true, ..tree }));
    all
}
