//! One file: opened without leaving the root, read within bounds, and either text or a reason why not.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use super::secrets::is_secret_file;
use super::walk::root_fault;
use contract::Fault;
use languages::{self, Language};
use platform::beneath::{Folder, Refused};

macro_rules! skip_reasons {
    ($($variant:ident $wire:literal $sentence:literal;)*) => {
        /// Why a file or a directory is not indexed. The set is closed; the wire name stands in `files.skipped`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub enum SkipReason {
            $(#[doc = $sentence] #[serde(rename = $wire)] $variant,)*
        }

        impl SkipReason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The wire name.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }

            /// One sentence for people.
            #[must_use]
            pub fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }
        }
    };
}

skip_reasons! {
    Empty "empty" "There is nothing in it.";
    TooLarge "too_large" "It is larger than a file may be.";
    Binary "binary" "It is not text.";
    NotUtf8 "not_utf8" "Its text is in an encoding other than UTF-8, or UTF-16 with a mark.";
    Minified "minified" "Its lines are too long to be written by hand.";
    Generated "generated" "A tool wrote it.";
    Vendored "vendored" "It is a copy of another project.";
    SecretFile "secret_file" "Files of this name hold secrets.";
    Link "link" "It is a symbolic link; what it leads to is indexed where it stands.";
    NotRegular "not_regular" "It is not a regular file.";
    Unreadable "unreadable" "It may not be read, or reading failed.";
    Gone "gone" "It vanished while the run was under way.";
    Failed "failed" "This program failed to read it; please report that.";
    NameNotUtf8 "name_not_utf8" "Its name is not UTF-8.";
    PathTooLong "path_too_long" "Its path is too long to be indexed.";
    TooDeep "too_deep" "It is below more directories than are walked.";
}

impl SkipReason {
    /// Whether it can pass away without a change of the file: permissions, what stands at its path, what a disk says.
    #[must_use]
    pub fn may_pass(self) -> bool {
        matches!(self, Self::Unreadable | Self::Gone | Self::Link | Self::NotRegular | Self::Failed)
    }

    /// The reason of a wire name.
    #[must_use]
    pub fn parse(wire: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == wire)
    }
}

/// Bounds of a file (`[indexing]` in the configuration).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Largest file in bytes.
    pub bytes_max: u64,
    /// Longest mean line of code in bytes; above, it is minified.
    pub line_bytes_mean_max: usize,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// blake3 of the bytes that were read; none where nothing was.
    pub content_hash: Option<[u8; 32]>,
    /// How many those were.
    pub bytes: u64,
    /// What they say.
    pub kind: Kind,
}

/// Text to index, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Text: UTF-8 without byte order mark, without NUL. Line ends are as they stand.
    Text {
        /// All of it.
        text: String,
        /// Number of lines.
        lines: u32,
        /// Told by name and first bytes.
        language: Option<&'static Language>,
    },
    /// Nothing to index.
    Skipped(SkipReason),
}

/// An open repository root; files are reached only beneath it.
#[derive(Debug)]
pub struct Root(Folder);

/// First bytes from which a language is told.
const FIRST_BYTES: usize = 4096;

impl Root {
    /// Opens the root.
    ///
    /// # Errors
    /// As [`walk`](super::walk::walk).
    pub fn open(root: &Path) -> Result<Self, Fault> {
        Folder::open(root).map(Self).map_err(root_fault)
    }

    /// Reads and classifies the file at a path below the root. A file that holds secrets by its name is not opened.
    #[must_use]
    pub fn read(&self, path: &str, limits: &ReadLimits) -> Contents {
        match self.read_bytes(path, limits.bytes_max) {
            Err(reason) => Contents { content_hash: None, bytes: 0, kind: Kind::Skipped(reason) },
            Ok(bytes) => Contents {
                content_hash: Some(*blake3::hash(&bytes).as_bytes()),
                bytes: bytes.len() as u64,
                kind: classify(path, bytes, limits).unwrap_or_else(Kind::Skipped),
            },
        }
    }

    /// The bytes of the file at a path below the root, whatever they are.
    ///
    /// # Errors
    /// The reason why there are none; a file that holds secrets by its name is not opened.
    pub fn read_bytes(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, SkipReason> {
        if is_secret_file(path) { Err(SkipReason::SecretFile) } else { Ok(self.0.read(path, bytes_max)?) }
    }
}

impl From<Refused> for SkipReason {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Gone => Self::Gone,
            Refused::Link => Self::Link,
            Refused::Folder | Refused::NotRegular => Self::NotRegular,
            Refused::TooLarge => Self::TooLarge,
            Refused::Unreadable => Self::Unreadable,
        }
    }
}

pub(super) fn classify(path: &str, bytes: Vec<u8>, limits: &ReadLimits) -> Result<Kind, SkipReason> {
    if bytes.is_empty() {
        return Err(SkipReason::Empty);
    }
    let text = decode(bytes)?;
    if text.trim().is_empty() {
        return Err(SkipReason::Empty);
    }
    if is_generated(path, &text) {
        return Err(SkipReason::Generated);
    }
    let mut first = text.len().min(FIRST_BYTES);
    while !text.is_char_boundary(first) {
        first -= 1;
    }
    let language = languages::detect(path, &text.as_bytes()[..first]);
    let lines = text.lines().count();
    if is_minified(path, &text, lines, language, limits) {
        return Err(SkipReason::Minified);
    }
    Ok(Kind::Text { lines: u32::try_from(lines).unwrap_or(u32::MAX), text, language })
}

/// Bytes to text: UTF-8, or UTF-16 with a byte order mark. Nothing is guessed and nothing is lost.
fn decode(bytes: Vec<u8>) -> Result<String, SkipReason> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks::<2>();
        let text = char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>();
        text.ok().filter(|_| rest.is_empty()).ok_or(SkipReason::NotUtf8)
    };
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ if bytes.contains(&0) => return Err(SkipReason::Binary),
        _ => String::from_utf8(bytes).map_err(|error| {
            if mostly_control(error.as_bytes()) { SkipReason::Binary } else { SkipReason::NotUtf8 }
        })?,
    };
    if text.contains('\0') || mostly_control(text.as_bytes()) {
        return Err(SkipReason::Binary);
    }
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

/// Whether more than a tenth are control characters that text does not have.
fn mostly_control(bytes: &[u8]) -> bool {
    let control =
        bytes.iter().filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)).count();
    10 * control > bytes.len()
}

/// Files that package managers write.
const LOCK_FILES: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "deno.lock",
    "cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pipfile.lock",
    "composer.lock",
    "gemfile.lock",
    "go.sum",
    "go.work.sum",
    "flake.lock",
    "mix.lock",
    "pubspec.lock",
    "packages.lock.json",
    "gradle.lockfile",
    "podfile.lock",
    "cartfile.resolved",
    "package.resolved",
    "module.bazel.lock",
    ".terraform.lock.hcl",
];

/// Lines at the top in which a generator says so.
const BANNER_LINES: usize = 20;

#[expect(clippy::expect_used, reason = "a constant pattern that a test compiles")]
static BANNER: LazyLock<Regex> = LazyLock::new(|| {
    // Go's form, Meta's, .NET's, and the phrase that most others use; each in a comment.
    Regex::new(
        r"(?ix)^\s*(?://|/\*|\*|\#|--|;|<!--|%)[^\n]*?(?:
            \bcode\ generated\b.*\bdo\ not\ (?:edit|modify)
            | (?:^|\s)@generated(?:\s|$)
            | <auto-?generated
            | \b(?:auto-?|automatically\ )generated\b.*\bdo\ not\ (?:edit|modify)
            | \bdo\ not\ (?:edit|modify)\b.*\b(?:auto-?|automatically\ )?generated\b
            | \bthis\ file\ (?:is|was|has\ been)\ (?:auto-?|automatically\ )?generated\b
            | \bgenerated\ by\ the\ protocol\ buffer\ compiler\b
        )",
    )
    .expect("a valid pattern")
});

fn is_generated(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    LOCK_FILES.contains(&name.as_str())
        || name.ends_with(".js.map")
        || name.ends_with(".css.map")
        || name.ends_with(".pb.go")
        || name.ends_with("_pb2.py")
        || text.lines().take(BANNER_LINES).any(|line| line.len() < 1000 && BANNER.is_match(line))
}

/// Text below this many mean lines is too little to judge.
const MINIFIED_LINES_MIN: usize = 10;

fn is_minified(
    path: &str,
    text: &str,
    lines: usize,
    language: Option<&'static Language>,
    limits: &ReadLimits,
) -> bool {
    let name = path.to_lowercase();
    if [".min.js", ".min.mjs", ".min.css", ".bundle.js"].iter().any(|end| name.ends_with(end)) {
        return true;
    }
    // Prose has a line a paragraph, and what has no language may be anything.
    let prose = ["markdown", "text", "rst", "asciidoc", "latex", "csv"];
    language.is_some_and(|language| !prose.contains(&language.id))
        && text.len() > MINIFIED_LINES_MIN * limits.line_bytes_mean_max
        && text.len() / lines.max(1) > limits.line_bytes_mean_max
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LIMITS: ReadLimits = ReadLimits { bytes_max: 100_000, line_bytes_mean_max: 500 };

    fn reason(path: &str, bytes: &[u8]) -> Option<SkipReason> {
        classify(path, bytes.to_vec(), &LIMITS).err()
    }

    fn text(bytes: &[u8]) -> String {
        match classify("a.rs", bytes.to_vec(), &LIMITS).unwrap() {
            Kind::Text { text, .. } => text,
            Kind::Skipped(reason) => panic!("{reason:?}"),
        }
    }

    #[test]
    fn wire_names_are_unique_and_serialise_as_they_read() {
        for reason in SkipReason::ALL {
            assert_eq!(SkipReason::parse(reason.as_str()), Some(*reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
            assert!(reason.sentence().ends_with('.'));
        }
        assert_eq!(SkipReason::parse("no_such"), None);
    }

    #[test]
    fn text_is_decoded_without_guessing() {
        assert_eq!(text("fn a() {}\r\n".as_bytes()), "fn a() {}\r\n");
        assert_eq!(text(b"\xef\xbb\xbfa\n"), "a\n");
        assert_eq!(text(b"\xff\xfea\0\xe9\0\n\0"), "aé\n");
        assert_eq!(text(b"\xfe\xff\0a\0\n"), "a\n");
        assert_eq!(reason("a.rs", b"caf\xe9 is Latin-1\n"), Some(SkipReason::NotUtf8));
        assert_eq!(reason("a.rs", b"\xff\xfea\0b"), Some(SkipReason::NotUtf8));
        assert_eq!(reason("a.rs", b"\xff\xfea\0\0\0b\0"), Some(SkipReason::Binary));
        assert_eq!(reason("a.rs", b"fn a() {}\n\0"), Some(SkipReason::Binary));
        assert_eq!(reason("a.rs", b"\x01\x02\x03\x04abc"), Some(SkipReason::Binary));
        assert_eq!(reason("a.png", b"\x89PNG\r\n\x1a\n\x01\x02\x03\xff\xfe"), Some(SkipReason::Binary));
        assert_eq!(reason("a.rs", b""), Some(SkipReason::Empty));
        assert_eq!(reason("a.rs", b" \n\t\r\n"), Some(SkipReason::Empty));
        assert_eq!(reason("a.rs", b"\xef\xbb\xbf"), Some(SkipReason::Empty));
    }

    #[test]
    fn what_tools_wrote_is_told_from_what_people_wrote() {
        let generated = Some(SkipReason::Generated);
        for banner in [
            "// Code generated by protoc-gen-go. DO NOT EDIT.",
            "# This file is automatically generated by Autoconf. Do not edit.",
            "/* This file was generated by bindgen */",
            " * @generated SignedSource<<abc>>",
            "// <auto-generated />",
            "-- DO NOT EDIT: this file is auto-generated",
            "# Generated by the protocol buffer compiler.  DO NOT EDIT!",
        ] {
            assert_eq!(reason("a.go", format!("\n{banner}\npackage a\n").as_bytes()), generated, "{banner}");
        }
        for line in [
            "// Finds files that hold the words code generated.",
            "let banner = \"// Code generated by x. DO NOT EDIT.\";",
            "// The generated file must not be edited twice.",
            "// See @generatedValue for more.",
        ] {
            assert_eq!(reason("a.go", format!("{line}\n").as_bytes()), None, "{line}");
        }
        let late = format!("{}// @generated\n", "let a = 1;\n".repeat(30));
        assert_eq!(reason("a.rs", late.as_bytes()), None);
        assert_eq!(reason("web/package-lock.json", b"{}"), generated);
        assert_eq!(reason("package.json", b"{}"), None);
        assert_eq!(reason("CHANGELOG.md", b"# 1.0\n"), None);
    }

    #[test]
    fn minified_code_is_left_out_and_long_prose_is_not() {
        let long = "var a=1;".repeat(1000);
        assert_eq!(reason("a.js", long.as_bytes()), Some(SkipReason::Minified));
        assert_eq!(reason("a.md", long.as_bytes()), None);
        assert_eq!(reason("a.js", b"var a = 1;\n"), None);
        assert_eq!(reason("jquery.min.js", b"var a = 1;\n"), Some(SkipReason::Minified));
    }

    #[test]
    fn files_that_hold_secrets_are_not_opened() {
        let root = tempfile::tempdir().unwrap();
        for name in [
            ".env",
            ".env.local",
            "server.pem",
            "id_rsa",
            "a.p12",
            ".npmrc",
            "terraform.tfstate",
            "kubeconfig",
            "A.KEY",
        ] {
            fs::write(root.path().join(name), "x").unwrap();
            let contents = Root::open(root.path()).unwrap().read(name, &LIMITS);
            assert_eq!(contents.kind, Kind::Skipped(SkipReason::SecretFile), "{name}");
            assert_eq!(contents.content_hash, None);
        }
        for name in ["id_generator.py", "environment.ts", "key.rs", "pem.go", "env.rs"] {
            assert!(!is_secret_file(name), "{name}");
        }
    }

    #[test]
    fn reading_stays_below_the_root() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("root");
        fs::create_dir_all(root.join("dir")).unwrap();
        fs::write(outer.path().join("outside.rs"), "secret").unwrap();
        fs::write(root.join("dir/a.rs"), "fn a() {}\n").unwrap();
        std::os::unix::fs::symlink("../outside.rs", root.join("link.rs")).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        let opened = Root::open(&root).unwrap();
        let skipped = |path: &str| match opened.read(path, &LIMITS).kind {
            Kind::Skipped(reason) => Some(reason),
            Kind::Text { .. } => None,
        };
        assert_eq!(skipped("dir/a.rs"), None);
        assert_eq!(skipped("link.rs"), Some(SkipReason::Link));
        assert_eq!(skipped("up/outside.rs"), Some(SkipReason::Link));
        assert_eq!(skipped("../outside.rs"), Some(SkipReason::Gone));
        assert_eq!(skipped("dir/../../outside.rs"), Some(SkipReason::Gone));
        assert_eq!(skipped(outer.path().join("outside.rs").to_str().unwrap()), Some(SkipReason::Gone));
        assert_eq!(skipped("dir"), Some(SkipReason::NotRegular));
        assert_eq!(skipped("pipe"), Some(SkipReason::NotRegular));
        assert_eq!(skipped("socket"), Some(SkipReason::NotRegular));
        assert_eq!(skipped("missing.rs"), Some(SkipReason::Gone));
        assert_eq!(Root::open(&root.join("missing")).unwrap_err().code, contract::ErrorCode::NotFound);
    }

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let bytes = b"fn a() {}\nfn b() {}\n";
        fs::write(root.path().join("a.rs"), bytes).unwrap();
        let opened = Root::open(root.path()).unwrap();
        let read = |bytes_max| opened.read("a.rs", &ReadLimits { bytes_max, ..LIMITS });
        let whole = read(bytes.len() as u64);
        assert_eq!(whole.content_hash, Some(*blake3::hash(bytes).as_bytes()));
        assert_eq!(whole.bytes, bytes.len() as u64);
        let Kind::Text { lines, language, .. } = whole.kind else { panic!("{:?}", whole.kind) };
        assert_eq!((lines, language.map(|language| language.id)), (2, Some("rust")));
        assert_eq!(read(bytes.len() as u64 - 1).kind, Kind::Skipped(SkipReason::TooLarge));
    }
}
