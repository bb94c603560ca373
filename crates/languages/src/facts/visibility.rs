//! The words of languages for who may use something, and the four that all of them come to.

use super::values::folded;

/// A language's own word, and which of [`WORDS`] it comes to. What stands in neither table is kept as it is.
const OWN: &[(&str, &str)] = &[
    // Rust, Zig
    ("pub", "public"),
    ("pub(crate)", "package"),
    ("pub(super)", "package"),
    ("crate", "package"),
    ("pub(self)", "private"),
    // Swift
    ("open", "public"),
    ("fileprivate", "private"),
    // C#, Kotlin, Swift
    ("internal", "package"),
    // C#
    ("file", "private"),
];

/// What every visibility is stored as, besides the language's own word: for everybody, for derived types, for the
/// package (crate, module, assembly), for the type or file alone.
pub const WORDS: &[&str] = &["public", "protected", "package", "private"];

/// What people call a visibility that no language has a keyword for.
const SPOKEN: &[(&str, &str)] = &[
    ("package-private", "package"),
    ("package private", "package"),
    ("exported", "public"),
    ("unexported", "private"),
];

/// What is stored of a visibility: one of [`WORDS`], and the language's own word where that is another.
pub(super) fn values(raw: &str) -> Vec<String> {
    let Some(own) = folded(raw).map(|own| own.replace(' ', "")) else { return Vec::new() };
    match normal(&own) {
        Some(word) if word != own => vec![word.to_owned(), own],
        _ => vec![own],
    }
}

/// The stored value that a word of a question means; none where only a part of a value is given.
pub(super) fn asked(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    if let Some((_, normal)) = SPOKEN.iter().find(|(spoken, _)| *spoken == word) {
        return Some((*normal).to_owned());
    }
    let own = word.replace(' ', "");
    normal(&own).is_some().then_some(own)
}

fn normal(own: &str) -> Option<&'static str> {
    let of_table = || OWN.iter().find(|(word, _)| *word == own).map(|(_, normal)| *normal);
    let whole = WORDS.iter().find(|word| **word == own).copied();
    // `pub(in a::b)` is for a part of the crate.
    whole.or_else(of_table).or_else(|| own.starts_with("pub(in").then_some("package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_come_to_four() {
        assert_eq!(values("pub"), ["public", "pub"]);
        assert_eq!(values("pub(crate)"), ["package", "pub(crate)"]);
        assert_eq!(values("pub (in crate::a)"), ["package", "pub(incrate::a)"]);
        assert_eq!(values("private"), ["private"]);
        assert_eq!(values("open"), ["public", "open"]);
        assert_eq!(values(" "), Vec::<String>::new());
        assert!(OWN.iter().all(|(own, normal)| WORDS.contains(normal) && !WORDS.contains(own)));
    }

    #[test]
    fn whole_words_are_asked_for_as_they_are_stored() {
        assert_eq!(asked("Public").as_deref(), Some("public"));
        assert_eq!(asked("pub( crate )").as_deref(), Some("pub(crate)"));
        assert_eq!(asked("package-private").as_deref(), Some("package"));
        assert_eq!(asked("prot"), None, "a part of a word is looked for in all values");
    }
}
