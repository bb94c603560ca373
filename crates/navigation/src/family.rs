//! Names of the families of languages, by which uses of names without a known definition are stored.

use super::rules::{self, Family};

/// The families that have names in common.
pub const FAMILIES: [&str; 10] =
    ["c", "csharp", "ecmascript", "go", "jvm", "php", "python", "ruby", "rust", "swift"];

/// The family of a language; of a language without rules of its own, the language.
#[must_use]
pub fn family(language: &str) -> &str {
    match rules::of(language).family {
        Family::C => "c",
        Family::CSharp => "csharp",
        Family::EcmaScript => "ecmascript",
        Family::Go => "go",
        Family::Jvm => "jvm",
        Family::Php => "php",
        Family::Python => "python",
        Family::Ruby => "ruby",
        Family::Rust => "rust",
        Family::Swift => "swift",
        Family::Other => language,
    }
}
