//! How a language writes comments, strings and expressions inside strings: as much as is needed to tell names in
//! code from words.

/// Where code may stand inside a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    /// Nowhere.
    None,
    /// `{name}`, a single name: Rust's format strings.
    Named,
    /// `{…}`; `{{` is a brace: Python, C#.
    Braces,
    /// `${…}`: JavaScript.
    Dollar,
    /// `$name`, `${…}`: Kotlin, Scala, shells.
    DollarName,
    /// `$name`, `{$…}`, `${…}`: PHP.
    Php,
    /// `#{…}`: Ruby, Elixir.
    Hash,
    /// `\(…)`: Swift.
    Swift,
}

/// What a single quote opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Single {
    /// A string without holes.
    Text,
    /// A string like that in double quotes.
    Same,
    /// A character, or a lifetime: Rust.
    Char,
}

/// The lexical habits of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lexicon {
    pub(super) line_comments: &'static [&'static str],
    /// `/* … */`.
    pub(super) block_comments: bool,
    pub(super) single: Single,
    /// `"""` and, where `single` is text, `'''`.
    pub(super) triple: bool,
    /// Holes of a plain string in double quotes.
    pub(super) holes: Holes,
    /// Holes of a string in backquotes; none: it is not a string.
    pub(super) backquote: Option<Holes>,
    /// Letters that belong to a string when they stand before its quote.
    pub(super) letters: &'static str,
    /// What stands before the quote, in lower case, when it gives the string these holes.
    pub(super) prefixes: &'static [(&'static str, Holes)],
    /// A string may run over lines.
    pub(super) multiline: bool,
    /// `/…/` after an operator.
    pub(super) regex: bool,
    /// `<<~END`, `<<<END`.
    pub(super) heredoc: Option<&'static str>,
    /// `a->b` selects.
    pub(super) arrow: bool,
    /// What may stand before the `{` that opens the body of a function without a name.
    pub(super) lambda: &'static [&'static str],
    /// `name = value` in arguments names the argument.
    pub(super) named_by_equals: bool,
    /// `name: value` in brackets names the value.
    pub(super) named_by_colon: bool,
}

const C_LIKE: Lexicon = Lexicon {
    line_comments: &["//"],
    block_comments: true,
    single: Single::Text,
    triple: false,
    holes: Holes::None,
    backquote: None,
    letters: "",
    prefixes: &[],
    multiline: false,
    regex: false,
    heredoc: None,
    arrow: false,
    lambda: &[],
    named_by_equals: false,
    named_by_colon: true,
};

const SCRIPT: Lexicon = Lexicon { line_comments: &["#"], block_comments: false, multiline: true, ..C_LIKE };

/// The habits of a language by its id; of one that is not known, those of C.
pub(super) fn of(language: &str) -> Lexicon {
    match language {
        "rust" => Lexicon {
            single: Single::Char,
            holes: Holes::Named,
            letters: "rbc",
            prefixes: &[("r", Holes::Named), ("br", Holes::None), ("b", Holes::None), ("c", Holes::None)],
            multiline: true,
            lambda: &["|"],
            ..C_LIKE
        },
        "python" => Lexicon {
            triple: true,
            letters: "frbu",
            prefixes: &[("f", Holes::Braces), ("rf", Holes::Braces), ("fr", Holes::Braces)],
            multiline: false,
            named_by_equals: true,
            named_by_colon: false,
            ..SCRIPT
        },
        "javascript" | "typescript" | "tsx" => {
            Lexicon { backquote: Some(Holes::Dollar), regex: true, lambda: &["=>", ")"], ..C_LIKE }
        }
        "go" => Lexicon { backquote: Some(Holes::None), lambda: &[")"], ..C_LIKE },
        "java" => Lexicon { triple: true, lambda: &["->"], named_by_colon: false, ..C_LIKE },
        "csharp" => Lexicon {
            triple: true,
            prefixes: &[
                ("$", Holes::Braces),
                ("$@", Holes::Braces),
                ("@$", Holes::Braces),
                ("@", Holes::None),
            ],
            lambda: &["=>"],
            ..C_LIKE
        },
        "cpp" => Lexicon { letters: "ul", arrow: true, lambda: &[")"], ..C_LIKE },
        "c" => Lexicon { arrow: true, ..C_LIKE },
        "kotlin" => Lexicon { triple: true, holes: Holes::DollarName, named_by_equals: true, ..C_LIKE },
        "scala" => {
            Lexicon { triple: true, letters: "sf", holes: Holes::DollarName, named_by_equals: true, ..C_LIKE }
        }
        "swift" => Lexicon { triple: true, holes: Holes::Swift, ..C_LIKE },
        "php" => Lexicon {
            line_comments: &["//", "#"],
            block_comments: true,
            holes: Holes::Php,
            backquote: Some(Holes::Php),
            heredoc: Some("<<<"),
            arrow: true,
            lambda: &[")"],
            ..SCRIPT
        },
        "ruby" => Lexicon {
            holes: Holes::Hash,
            backquote: Some(Holes::Hash),
            regex: true,
            heredoc: Some("<<"),
            ..SCRIPT
        },
        "elixir" => Lexicon { triple: true, holes: Holes::Hash, single: Single::Same, ..SCRIPT },
        "bash" => Lexicon { holes: Holes::DollarName, named_by_colon: false, ..SCRIPT },
        "lua" | "haskell" | "sql" => Lexicon { line_comments: &["--"], ..C_LIKE },
        _ => C_LIKE,
    }
}
