//! Fuzz target: the git directory of a repository.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{FoundRepository, Limits};

const LIMITS: Limits =
    Limits { commits_max: 100, churn_commits: 10, blob_bytes_max: 1 << 16, time: Duration::from_secs(5) };
/// Longest author name, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// The file whose lines' history is read.
const FILE: &str = "a.txt";
const TEXT: &str = "one\ntwo\nthree\n";

/// Ids of objects. The content of an object need not have that hash, because repositories are not trusted.
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

/// A part of a git directory.
enum Part {
    /// A file: its path and extension.
    File(&'static str, &'static str),
    /// A loose object, which is compressed before it is written: its kind and id.
    Object(&'static str, &'static str),
    /// The file of a loose object, written as it is: its id.
    CompressedObject(&'static str),
}

/// All parts; inputs refer to them by index.
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
    Part::CompressedObject(COMMITS[0]),
    Part::File(PACK, ".pack"),
    Part::File(PACK, ".idx"),
    Part::File("objects/info/commit-graph", ""),
];

/// Decodes an input: for each part its index, the length of its content in two bytes, big-endian, and the content.
fn decode_parts(mut data: &[u8]) -> Vec<(usize, &[u8])> {
    let mut parts = Vec::new();
    while let [index, high, low, rest @ ..] = data {
        let length = rest.len().min(usize::from(u16::from_be_bytes([*high, *low])));
        parts.push((usize::from(*index) % PARTS.len(), &rest[..length]));
        data = &rest[length..];
    }
    parts
}

fn encode_part(index: usize, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[u8::try_from(index).unwrap_or(0)], length.as_slice(), content].concat()
}

/// Returns seeds: a repository with a mailmap and two commits of a file; the same with packed references; the same as a shallow clone.
pub fn repository_seeds() -> Vec<Vec<u8>> {
    let first_digit = |hex: &str| hex.as_bytes()[0] - b'0';
    let entry = |mode: &str, name: &str, hex: &str| {
        [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[first_digit(hex) * 0x11; 20]].concat()
    };
    let commit = |tree: &str, parent: &str, author: &str| {
        format!(
            "tree {tree}\n{parent}author {author} <{author}@example.org> 1700000000 +0000\ncommitter C <c@example.org> 1700000060 -0130\n\nchange\n"
        )
    };
    let parts = [
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
    let loose = parts.map(|(index, content)| encode_part(index, &content)).concat();
    let packed_refs = format!(
        "# pack-refs with: peeled fully-peeled sorted\n{} refs/heads/b/c\n^{}\n",
        COMMITS[0], COMMITS[1]
    );
    let packed_head = encode_part(0, b"ref: refs/heads/b/c");
    let packed = [loose.clone(), packed_head, encode_part(2, packed_refs.as_bytes())].concat();
    let tip = COMMITS[0].as_bytes();
    let shallow = [loose.clone(), encode_part(0, tip), encode_part(3, tip)].concat();
    vec![loose, packed, shallow]
}

/// Writes a repository below `root`, reads its history, and checks that names are bounded and every line is in one run.
pub fn fuzz_repository(root: &Path, data: &[u8]) {
    let written = write_repository(root, data);
    assert!(written.is_ok(), "the repository could not be written: {written:?}");
    let Ok(found) = FoundRepository::find(root, &|_| true) else { return };
    drop(found.head().cloned());
    let Ok(history) = found.open() else { return };
    let _ = (history.has_file(FILE), history.has_file("../a"));
    let files = history.files(&LIMITS, &|| false);
    for (path, file) in &files.files {
        assert!(file.last_author.len() <= NAME_BYTES_MAX, "{path}: {}", file.last_author);
        assert!(file.churn_commits <= LIMITS.churn_commits, "{path}: {file:?}");
        assert!(
            file.last_commit.len() == 40 && file.last_commit.bytes().all(|byte| byte.is_ascii_hexdigit())
        );
    }
    if let Ok(lines) = history.line_history(FILE, TEXT, &LIMITS) {
        assert_eq!(lines.runs.last().map(|run| run.last_line as usize), Some(TEXT.lines().count()));
        assert!(lines.is_sound(), "{lines:?}");
    }
}

fn write_repository(root: &Path, data: &[u8]) -> std::io::Result<()> {
    let git = root.join(".git");
    for folder in ["refs/heads", "objects/pack", "objects/info"] {
        fs::create_dir_all(git.join(folder))?;
    }
    let write_object = |id: &str, bytes: &[u8]| {
        let folder = git.join("objects").join(&id[..2]);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&id[2..]), bytes)
    };
    for (index, content) in decode_parts(data) {
        match &PARTS[index] {
            Part::File(path, extension) => fs::write(git.join(format!("{path}{extension}")), content)?,
            Part::Object(kind, id) => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                write!(encoder, "{kind} {}\0", content.len())?;
                encoder.write_all(content)?;
                write_object(id, &encoder.finish()?)?;
            }
            Part::CompressedObject(id) => write_object(id, content)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_have_a_history() {
        for seed in repository_seeds() {
            let root = tempfile::tempdir().unwrap();
            write_repository(root.path(), &seed).unwrap();
            let history = crate::History::open(root.path()).unwrap();
            let files = history.files(&LIMITS, &|| false);
            assert_eq!(&*files.files[FILE].last_author, "Anna");
            let lines = history.line_history(FILE, TEXT, &LIMITS).unwrap();
            assert_eq!(lines.authors_of(1, 3)[0], "Anna");
        }
    }
}
