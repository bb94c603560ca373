//! Maps the visibility keywords of all languages to four common values.

use super::values::folded;

/// Keywords of languages, and the common value ([`WORDS`]) of each. Keywords in neither table are stored as they are.
const KEYWORDS: &[(&str, &str)] = &[
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

/// The common values, stored in addition to the language's own keyword: visible to everybody, to derived types, in the
/// package (crate, module, assembly), in the type or file.
pub const WORDS: &[&str] = &["public", "protected", "package", "private"];

/// Common names of visibilities for which no language has a keyword.
const SPOKEN: &[(&str, &str)] = &[
    ("package-private", "package"),
    ("package private", "package"),
    ("exported", "public"),
    ("unexported", "private"),
];

/// The stored values of a visibility: one of [`WORDS`], and the language's own keyword if it differs.
pub(super) fn values(raw: &str) -> Vec<String> {
    let Some(own) = folded(raw).map(|own| own.replace(' ', "")) else { return Vec::new() };
    match normal(&own) {
        Some(word) if word != own => vec![word.to_owned(), own],
        _ => vec![own],
    }
}

/// The stored value for a word of a query; `None` if it is not a complete keyword.
pub(super) fn stored_value(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    if let Some((_, normal)) = SPOKEN.iter().find(|(spoken, _)| *spoken == word) {
        return Some((*normal).to_owned());
    }
    let own = word.replace(' ', "");
    normal(&own).is_some().then_some(own)
}

fn normal(own: &str) -> Option<&'static str> {
    let of_table = || KEYWORDS.iter().find(|(word, _)| *word == own).map(|(_, normal)| *normal);
    let whole = WORDS.iter().find(|word| **word == own).copied();
    // `pub(in a::b)` is for a part of the crate.
    whole.or_else(of_table).or_else(|| own.starts_with("pub(in").then_some("package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_map_to_common_values() {
        assert_eq!(values("pub"), ["public", "pub"]);
        assert_eq!(values("pub(crate)"), ["package", "pub(crate)"]);
        assert_eq!(values("pub (in crate::a)"), ["package", "pub(incrate::a)"]);
        assert_eq!(values("private"), ["private"]);
        assert_eq!(values("open"), ["public", "open"]);
        assert_eq!(values(" "), Vec::<String>::new());
        assert!(KEYWORDS.iter().all(|(own, normal)| WORDS.contains(normal) && !WORDS.contains(own)));
    }

    #[test]
    fn words_of_queries_map_to_stored_values() {
        assert_eq!(stored_value("Public").as_deref(), Some("public"));
        assert_eq!(stored_value("pub( crate )").as_deref(), Some("pub(crate)"));
        assert_eq!(stored_value("package-private").as_deref(), Some("package"));
        assert_eq!(stored_value("prot"), None, "a part of a word is looked for in all values");
    }
}
