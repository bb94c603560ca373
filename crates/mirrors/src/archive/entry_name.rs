//! The names of entries: an archive may contain anything, so only paths below a folder are accepted.

/// Maximum length of a path in bytes, as on disk.
const PATH_BYTES_MAX: usize = 4096;
/// Maximum length of a part of a path in bytes, as on disk.
const PART_BYTES_MAX: usize = 255;

/// The folder at the top of archives by macOS with attributes of the files beside it.
const MACOS_FOLDER: &[u8] = b"__MACOSX";

/// The meaning of the name of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EntryName {
    /// A path with parts that are not empty, separated by `/`.
    Path(Vec<u8>),
    /// The top folder, or something that is never indexed: a git directory, or an addition by macOS.
    Ignored,
    /// Outside of the archive, or impossible on disk.
    Unsafe,
}

impl EntryName {
    /// Parses a name. Its parts may be any bytes, for example in an encoding other than UTF-8.
    pub(super) fn parse(name: &[u8]) -> Self {
        let is_absolute = name.starts_with(b"/") || has_drive(name);
        if is_absolute || name.contains(&0) || name.len() > PATH_BYTES_MAX {
            return Self::Unsafe;
        }
        let parts = || name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
        if parts().any(|part| part == b".." || part.len() > PART_BYTES_MAX) {
            return Self::Unsafe;
        }
        let is_ignored = parts().any(|part| part.eq_ignore_ascii_case(b".git"));
        match parts().next() {
            None => Self::Ignored,
            Some(first) if is_ignored || first == MACOS_FOLDER => Self::Ignored,
            Some(_) => Self::Path(parts().collect::<Vec<_>>().join(&b'/')),
        }
    }
}

/// Returns `true` if a name begins with a drive of Windows: `C:/` or `C:\`.
fn has_drive(name: &[u8]) -> bool {
    matches!(name, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_a_folder_are_paths() {
        for (name, path) in [
            ("a", "a"),
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/./folder/", "src/folder"),
            ("...", "..."),
            ("a\\b", "a\\b"),
            ("a:b", "a:b"),
            ("a/C:/b", "a/C:/b"),
            (".github/x", ".github/x"),
            ("src/__MACOSX/x", "src/__MACOSX/x"),
        ] {
            assert_eq!(EntryName::parse(name.as_bytes()), EntryName::Path(path.into()), "{name}");
        }
        assert_eq!(EntryName::parse(b"\xff/\xfe"), EntryName::Path(b"\xff/\xfe".to_vec()));
        let long = "x".repeat(PART_BYTES_MAX);
        assert_eq!(EntryName::parse(long.as_bytes()), EntryName::Path(long.into_bytes()));
    }

    #[test]
    fn other_names_are_unsafe_or_ignored() {
        let (part, path) = ("x".repeat(256), "x/".repeat(2049));
        for name in
            ["../x", "a/../../x", "a/..", "/etc/passwd", "//x", "C:/x", "c:\\x", "a\0b", "\0", &part, &path]
        {
            assert_eq!(EntryName::parse(name.as_bytes()), EntryName::Unsafe, "{name}");
        }
        for name in ["", ".", "./", "././", ".git", "p/.git/config", "p/.GIT/HEAD", "__MACOSX/p/._a"] {
            assert_eq!(EntryName::parse(name.as_bytes()), EntryName::Ignored, "{name}");
        }
    }
}
