//! What fuzzing drives here: the git directory that a repository comes with.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{Found, Limits};

const LIMITS: Limits =
    Limits { commits_max: 100, churn_commits: 10, blob_bytes_max: 1 << 16, time: Duration::from_secs(5) };
/// Longest name of an author.
const NAME_BYTES_MAX: usize = 256;
/// The file whose history is asked for.
const FILE: &str = "a.txt";
const TEXT: &str = "one\ntwo\nthree\n";

/// Names of objects. What lies under a name need not have that hash: whoever fills a repository decides.
const COMMITS: [&str; 2] =
    ["1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"];
const TREES: [&str; 2] =
    ["3333333333333333333333333333333333333333", "4444444444444444444444444444444444444444"];
const BLOBS: [&str; 3] = [
    "5555555555555555555555555555555555555555",
    "6666666666666666666666666666666666666666",
    "7777777777777777777777777777777777777777",
];
const PACK: &str = "objects/pack/pack-8888888888888888888888888888888888888888";

/// Parts of a git directory by the number that stands before each in an input: a file, or an object of a kind by its name.
enum Part {
    File(&'static str, &'static str),
    Object(&'static str, &'static str),
    /// An object as its file has it, not yet unpacked.
    Packed(&'static str),
}

const PARTS: [Part; 15] = [
    Part::File("HEAD", ""),
    Part::File("refs/heads/main", ""),
    Part::File("packed-refs", ""),
    Part::File("shallow", ""),
    Part::Object("commit", COMMITS[0]),
    Part::Object("commit", COMMITS[1]),
    Part::Object("tree", TREES[0]),
    Part::Object("tree", TREES[1]),
    Part::Object("blob", BLOBS[0]),
    Part::Object("blob", BLOBS[1]),
    Part::Object("blob", BLOBS[2]),
    Part::Packed(COMMITS[0]),
    Part::File(PACK, ".pack"),
    Part::File(PACK, ".idx"),
    Part::File("objects/info/commit-graph", ""),
];

/// Of an input: a part's number and the length of its content in two bytes, big-endian, then the content.
fn parts(mut data: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    while let [number, high, low, rest @ ..] = data {
        let length = rest.len().min(usize::from(u16::from_be_bytes([*high, *low])));
        parts.push((usize::from(*number) % PARTS.len(), &rest[..length]));
        data = &rest[length..];
    }
    parts
}

fn part(number: usize, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[u8::try_from(number).unwrap_or(0)], length.as_slice(), content].concat()
}

/// Repositories to begin with: two commits of a file with a mailmap, and the same under changed references.
pub fn repositories() -> Vec<Vec<u8>> {
    let id = |hex: &str| hex.as_bytes()[0] - b'0';
    let entry = |mode: &str, name: &str, hex: &str| {
        [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[id(hex) * 0x11; 20]].concat()
    };
    let commit = |tree: &str, parent: &str, author: &str| {
        format!(
            "tree {tree}\n{parent}author {author} <{author}@example.org> 1700000000 +0000\ncommitter C <c@example.org> 1700000060 -0130\n\nchange\n"
        )
    };
    let own = [
        (0, b"ref: refs/heads/main\n".to_vec()),
        (1, format!("{}\n", COMMITS[0]).into_bytes()),
        (4, commit(TREES[0], &format!("parent {}\n", COMMITS[1]), "Ann").into_bytes()),
        (5, commit(TREES[1], "", "Bob").into_bytes()),
        (6, [entry("100644", ".mailmap", BLOBS[2]), entry("100644", FILE, BLOBS[0])].concat()),
        (7, entry("100644", FILE, BLOBS[1])),
        (8, TEXT.as_bytes().to_vec()),
        (9, b"one\nthree\n".to_vec()),
        (10, b"Anna <anna@example.org> <Ann@example.org>\n".to_vec()),
    ];
    let whole = own.map(|(number, content)| part(number, &content)).concat();
    let packed = format!(
        "# pack-refs with: peeled fully-peeled sorted\n{} refs/heads/b/c\n^{}\n",
        COMMITS[0], COMMITS[1]
    );
    let of_packed = [whole.clone(), part(0, b"ref: refs/heads/b/c"), part(2, packed.as_bytes())].concat();
    let shallow = [whole.clone(), part(0, COMMITS[0].as_bytes()), part(3, COMMITS[0].as_bytes())].concat();
    vec![whole, of_packed, shallow]
}

/// A repository below `root`: its history is read or not; names are bounded, and there is an author at most for each line.
pub fn repository(root: &Path, data: &[u8]) {
    let laid = laid(root, data);
    assert!(laid.is_ok(), "the repository could not be laid out: {laid:?}");
    let Ok(found) = Found::find(root, &|_| true) else { return };
    drop(found.head().cloned());
    let Ok(history) = found.open() else { return };
    let _ = (history.holds(FILE), history.holds("../a"));
    let files = history.files(&LIMITS, &|| false);
    for (path, file) in &files.files {
        assert!(file.last_author.len() <= NAME_BYTES_MAX, "{path}: {}", file.last_author);
        assert!(file.churn_commits <= LIMITS.churn_commits, "{path}: {file:?}");
        assert!(
            file.last_commit.len() == 40 && file.last_commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        );
    }
    if let Ok(authors) = history.line_authors(FILE, TEXT, &LIMITS) {
        assert_eq!(authors.len(), TEXT.lines().count());
        assert!(authors.iter().flatten().all(|name| name.len() <= NAME_BYTES_MAX));
    }
}

fn laid(root: &Path, data: &[u8]) -> std::io::Result<()> {
    let git = root.join(".git");
    for folder in ["refs/heads", "objects/pack", "objects/info"] {
        fs::create_dir_all(git.join(folder))?;
    }
    let object = |name: &str, bytes: &[u8]| {
        let folder = git.join("objects").join(&name[..2]);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&name[2..]), bytes)
    };
    for (number, content) in parts(data) {
        match &PARTS[number] {
            Part::File(name, ending) => fs::write(git.join(format!("{name}{ending}")), content)?,
            Part::Object(kind, name) => {
                let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
                write!(packed, "{kind} {}\0", content.len())?;
                packed.write_all(content)?;
                object(name, &packed.finish()?)?;
            }
            Part::Packed(name) => object(name, content)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repositories_to_begin_with_have_a_history() {
        for seed in repositories() {
            let root = tempfile::tempdir().unwrap();
            laid(root.path(), &seed).unwrap();
            let history = crate::History::open(root.path()).unwrap();
            let files = history.files(&LIMITS, &|| false);
            assert_eq!(&*files.files[FILE].last_author, "Anna");
            assert_eq!(history.line_authors(FILE, TEXT, &LIMITS).unwrap().len(), 3);
        }
    }
}
