//! Hostile trees: what an attacker can put in the place of a repository's files and of git's files.
//!
//! Each [`Tree`] is one kind of attack, in a repository that otherwise has one normal file. All randomness comes from a seed,
//! so that a failure can be reproduced.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use super::tree_git::{git_objects, git_pointers, git_repository};
use crate::harness::Dice;

/// Writes a tree into an empty directory.
type WriteTree = Box<dyn Fn(&Path, &Outside) + Send + Sync>;
/// Makes the text of an ignore file.
type IgnoreRules = fn() -> String;

/// One hostile tree.
pub(crate) struct Tree {
    /// Description of the attack.
    pub(crate) name: String,
    /// `true` if the tree is indexed into a project of its own; all others share two projects.
    pub(crate) own_project: bool,
    write: WriteTree,
}

impl Tree {
    pub(super) fn new(
        name: impl Into<String>,
        write: impl Fn(&Path, &Outside) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), own_project: false, write: Box::new(write) }
    }

    /// Writes the tree into an empty directory.
    pub(crate) fn write(&self, root: &Path, outside: &Outside) {
        fs::write(root.join("found.py"), "def found_in_every_tree(coin):\n    return coin\n").unwrap();
        (self.write)(root, outside);
    }
}

/// A directory outside of all roots, with a canary in every file, which must never be stored in the database.
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

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }
}

/// The number that follows `seed` in a pseudo-random sequence.
pub(crate) fn rand(seed: u64) -> u64 {
    Dice(seed).next()
}

/// Puts something else in the place of a file.
type Replacement = fn(&Path, &Outside);

/// Replacements for any file.
const REPLACEMENTS: &[(&str, Replacement)] = &[
    ("a link to /dev/zero", |path, _| symlink("/dev/zero", path).unwrap()),
    ("a link to /etc/passwd", |path, _| symlink("/etc/passwd", path).unwrap()),
    ("a link to a file outside", |path, outside| symlink(outside.path("secret.py"), path).unwrap()),
    ("a link to a directory outside", |path, outside| symlink(outside.path("deep"), path).unwrap()),
    ("a link to itself", |path, _| symlink(path.file_name().unwrap(), path).unwrap()),
    ("a pipe", |path, _| create_pipe(path)),
    ("a socket", |path, _| create_socket(path)),
    ("a directory", |path, _| fs::create_dir(path).unwrap()),
    ("a device", |path, _| create_device(path)),
    ("26 MB", |path, _| fs::write(path, "pattern-of-many/*.x\n".repeat(1_300_000)).unwrap()),
    ("one line of 10 MB", |path, _| fs::write(path, "a".repeat(10_000_000)).unwrap()),
    ("a sparse file of 1 TB", |path, _| {
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    }),
    ("nothing but NUL", |path, _| fs::write(path, vec![0; 4000]).unwrap()),
];

/// Files that are read by name: ignore files, git's files, our own, and files with a meaning for other tools.
const SPECIAL_PATHS: &[&str] = &[
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

pub(super) fn create_pipe(path: &Path) {
    mkfifoat(CWD, path, Mode::RWXU).unwrap();
}

fn create_socket(path: &Path) {
    // Bound at a short path, because a socket address has at most 108 bytes. The file outlives the socket.
    let short_folder = tempfile::tempdir_in("/tmp").unwrap();
    let _socket = UnixListener::bind(short_folder.path().join("s")).unwrap();
    fs::rename(short_folder.path().join("s"), path)
        .or_else(|_| {
            let beside_target = path.parent().unwrap().join(".s");
            UnixListener::bind(&beside_target).and_then(|_| fs::rename(&beside_target, path))
        })
        .unwrap();
}

/// `/dev/zero` where creating a device is allowed, else a pipe.
fn create_device(path: &Path) {
    let mode = Mode::from_raw_mode(0o666);
    if mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 5)).is_err() {
        create_pipe(path);
    }
}

/// Every replacement at every special path.
fn trees_with_replaced_files() -> Vec<Tree> {
    let mut trees = Vec::new();
    for (label, replace) in REPLACEMENTS {
        trees.push(Tree::new(format!("{label} everywhere"), move |root, outside| {
            for special_path in SPECIAL_PATHS.iter().filter(|special_path| !special_path.starts_with(".git/"))
            {
                replace_file(root, special_path, outside, *replace);
            }
        }));
    }
    for special_path in SPECIAL_PATHS.iter().filter(|special_path| special_path.starts_with(".git/")) {
        for (label, replace) in REPLACEMENTS {
            trees.push(Tree::new(format!("{special_path} is {label}"), move |root, outside| {
                git_repository(root, "Ada");
                replace_file(root, special_path, outside, *replace);
            }));
        }
    }
    trees
}

fn replace_file(root: &Path, special_path: &str, outside: &Outside, replace: Replacement) {
    let path = root.join(special_path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    let _ = fs::remove_dir_all(&path);
    replace(&path, outside);
}

fn trees_with_ignore_rules(long: bool) -> Vec<Tree> {
    let rules: [(&str, IgnoreRules); 6] = [
        // Few enough to be read; as one automaton they needed gigabytes for the names below.
        ("4,000 patterns of many stars", || (0..4000).map(|n| format!("*z*a*z*a*z*z{n}\n")).collect()),
        ("100,000 patterns", || (0..100_000).map(|n| format!("/dir{n}/**/x*\n")).collect()),
        ("very many stars", || format!("{}\n", "*a".repeat(500)).repeat(250)),
        ("very many double stars", || format!("{}b\n", "**/a*/".repeat(160)).repeat(250)),
        ("very many character classes", || format!("{}\n", "[!a-y]*".repeat(140)).repeat(250)),
        ("braces and escapes", || format!("{}\n", "{a,b}\\*[]a-".repeat(90)).repeat(250)),
    ];
    let mut trees: Vec<Tree> = rules
        .into_iter()
        .map(|(label, text)| {
            Tree::new(format!("ignore rules: {label}"), move |root, _| {
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
        // Reading all of them costs tens of seconds in a debug build.
        let rules = "*.tmp\nnode/**/deep\n".repeat(if long { 12_000 } else { 60 });
        let mut folder = root.to_owned();
        for _ in 0..60 {
            fs::write(folder.join(".gitignore"), &rules).unwrap();
            fs::write(folder.join("a.py"), "def a(): pass\n").unwrap();
            folder.push("d");
            fs::create_dir(&folder).unwrap();
        }
    }));
    trees
}

/// File names that must not be trusted, as bytes; some are not UTF-8.
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

/// Creates a file and a directory with every odd name.
pub(crate) fn write_odd_names(root: &Path) {
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

#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn unusual_trees(long: bool) -> Vec<Tree> {
    // With the file that every tree has, the long form has the maximum number of files that a walk takes.
    let files = if long { 199_999 } else { 5_000 };
    vec![
        Tree::new("odd names", |root, _| write_odd_names(root)),
        Tree::new("names of 255 bytes, paths of 4,000", |root, _| {
            let mut folder = root.to_owned();
            for _ in 0..14 {
                folder.push("n".repeat(255));
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join(format!("{}.py", "f".repeat(252))), "def long_name(): pass\n").unwrap();
            }
        }),
        Tree::new("directories nested 2,000 deep", |root, _| {
            let mut folder = rustix::fs::open(root, rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
            for _ in 0..2_000 {
                rustix::fs::mkdirat(&folder, "deep", Mode::RWXU).unwrap();
                folder = rustix::fs::openat(&folder, "deep", rustix::fs::OFlags::DIRECTORY, Mode::empty())
                    .unwrap();
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
                create_pipe(&root.join(format!("pipe{n}.py")));
                create_socket(&root.join(format!("socket{n}.py")));
                create_device(&root.join(format!("device{n}.py")));
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
        Tree::new("enormous front matter", |root, _| {
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
        Tree::new("texts that are expensive to parse", |root, _| {
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

/// All hostile trees. The short form takes a quarter of the replaced git files, drawn by `seed`, and makes fewer files.
pub(crate) fn trees(long: bool, seed: u64) -> Vec<Tree> {
    let mut all = trees_with_replaced_files();
    if !long {
        let mut number = seed;
        all.retain(|tree| {
            number = rand(number);
            !tree.name.starts_with(".git/") || number.is_multiple_of(4)
        });
    }
    all.extend(trees_with_ignore_rules(long));
    all.extend(git_pointers());
    all.extend(git_objects());
    all.extend(unusual_trees(long).into_iter().map(|tree| Tree { own_project: true, ..tree }));
    all
}
