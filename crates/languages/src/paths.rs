//! The terms of a path, and the paths in a text.

/// Number of parent directories, the nearest first, whose names are terms.
const DIRECTORIES: usize = 3;

/// The paths and file names in a text: words whose last component has a short extension.
pub fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;|".contains(c))
        .map(|piece| piece.split(':').next().unwrap_or(piece).trim_end_matches(['.', '?', '!']))
        .filter(|piece| !piece.contains("//") && looks_like_path(piece))
}

fn looks_like_path(piece: &str) -> bool {
    let name = piece.rsplit('/').next().unwrap_or(piece);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let short = (1..=5).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_lowercase());
    !stem.is_empty() && short && stem.chars().any(char::is_alphanumeric)
}

/// The stem and the nearest directories of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWords<'a> {
    /// The file's name without its last extension.
    pub stem: &'a str,
    /// Up to three directories, the nearest first.
    pub directories: Vec<&'a str>,
}

impl<'a> PathWords<'a> {
    /// Splits a `/`-separated path.
    #[must_use]
    pub fn new(path: &'a str) -> Self {
        let mut pieces = path.rsplit('/').filter(|piece| !piece.is_empty() && *piece != ".");
        let name = pieces.next().unwrap_or("");
        let stem = match name.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => name,
        };
        Self { stem, directories: pieces.take(DIRECTORIES).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_its_stem_and_the_nearest_directories() {
        let place = PathWords::new("./a/b/c/d/main.test.rs");
        assert_eq!((place.stem, place.directories), ("main.test", vec!["d", "c", "b"]));
        assert_eq!(PathWords::new(".bashrc").stem, ".bashrc");
    }

    #[test]
    fn paths_in_a_text_are_found() {
        let text = "see src/app.rs:12, (lib/a.py) and https://x.org/a.html. Done.";
        assert_eq!(paths_in(text).collect::<Vec<_>>(), ["src/app.rs", "lib/a.py"]);
    }
}
