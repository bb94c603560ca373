//! The families of languages.

/// Languages whose names see each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Family {
    C,
    CSharp,
    EcmaScript,
    Go,
    Jvm,
    Php,
    Python,
    Ruby,
    Rust,
    Swift,
    /// A language without rules of its own: its files do not see each other.
    Other,
}
