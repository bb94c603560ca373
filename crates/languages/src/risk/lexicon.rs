//! The syntax of comments, strings and string interpolation in each language, as far as it is needed to distinguish names in
//! code from words in texts.

/// The syntax of expressions inside a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpolation {
    /// No interpolation.
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

/// The meaning of a single quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingleQuote {
    /// A string without interpolation.
    Text,
    /// The same as a double quote.
    Same,
    /// A character, or a lifetime: Rust.
    Char,
}

/// The lexical syntax of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lexicon {
    pub(super) line_comments: &'static [&'static str],
    /// `/* … */`.
    pub(super) block_comments: bool,
    pub(super) single: SingleQuote,
    /// `"""` and, unless a single quote delimits characters, `'''`.
    pub(super) triple: bool,
    /// Interpolation in strings in double quotes without a prefix.
    pub(super) interpolation: Interpolation,
    /// Interpolation in strings in backquotes; `None`: backquotes do not delimit strings.
    pub(super) backquote: Option<Interpolation>,
    /// Letters that may prefix a string.
    pub(super) letters: &'static str,
    /// Prefixes, in lower case, that determine the interpolation of a string.
    pub(super) prefixes: &'static [(&'static str, Interpolation)],
    /// `true` if a string without triple quotes, backquotes or a raw prefix may span lines.
    pub(super) multiline: bool,
    /// `true` if `/…/` after an operator is a regular expression.
    pub(super) regex: bool,
    /// The operator that begins a heredoc: `<<` or `<<<`.
    pub(super) heredoc: Option<&'static str>,
    /// `true` if `a->b` selects a member.
    pub(super) arrow: bool,
    /// Tokens that may precede the `{` of an anonymous function's body.
    pub(super) lambda: &'static [&'static str],
    /// `name = value` in arguments names the argument.
    pub(super) named_by_equals: bool,
    /// `name: value` in brackets names the value.
    pub(super) named_by_colon: bool,
}

const C_LIKE: Lexicon = Lexicon {
    line_comments: &["//"],
    block_comments: true,
    single: SingleQuote::Text,
    triple: false,
    interpolation: Interpolation::None,
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

const RUST: Lexicon = Lexicon {
    single: SingleQuote::Char,
    interpolation: Interpolation::Named,
    letters: "rbc",
    prefixes: &[
        ("r", Interpolation::Named),
        ("br", Interpolation::None),
        ("b", Interpolation::None),
        ("c", Interpolation::None),
    ],
    multiline: true,
    lambda: &["|"],
    ..C_LIKE
};

const PYTHON: Lexicon = Lexicon {
    triple: true,
    letters: "frbu",
    prefixes: &[("f", Interpolation::Braces), ("rf", Interpolation::Braces), ("fr", Interpolation::Braces)],
    multiline: false,
    named_by_equals: true,
    named_by_colon: false,
    ..SCRIPT
};

const CSHARP: Lexicon = Lexicon {
    triple: true,
    prefixes: &[
        ("$", Interpolation::Braces),
        ("$@", Interpolation::Braces),
        ("@$", Interpolation::Braces),
        ("@", Interpolation::None),
    ],
    lambda: &["=>"],
    ..C_LIKE
};

/// The lexical syntax of a language by its id; that of C if the language is unknown.
pub(super) fn for_language(language: &str) -> Lexicon {
    match language {
        "rust" => RUST,
        "python" => PYTHON,
        "javascript" | "typescript" | "tsx" => {
            Lexicon { backquote: Some(Interpolation::Dollar), regex: true, lambda: &["=>", ")"], ..C_LIKE }
        }
        "go" => Lexicon { backquote: Some(Interpolation::None), lambda: &[")"], ..C_LIKE },
        "java" => Lexicon { triple: true, lambda: &["->"], named_by_colon: false, ..C_LIKE },
        "csharp" => CSHARP,
        "cpp" => Lexicon { letters: "ul", arrow: true, lambda: &[")"], ..C_LIKE },
        "c" => Lexicon { arrow: true, ..C_LIKE },
        "kotlin" => Lexicon {
            triple: true,
            interpolation: Interpolation::DollarName,
            named_by_equals: true,
            ..C_LIKE
        },
        "scala" => Lexicon {
            triple: true,
            letters: "sf",
            interpolation: Interpolation::DollarName,
            named_by_equals: true,
            ..C_LIKE
        },
        "swift" => Lexicon { triple: true, interpolation: Interpolation::Swift, ..C_LIKE },
        "php" => Lexicon {
            line_comments: &["//", "#"],
            block_comments: true,
            interpolation: Interpolation::Php,
            backquote: Some(Interpolation::Php),
            heredoc: Some("<<<"),
            arrow: true,
            lambda: &[")"],
            ..SCRIPT
        },
        "ruby" => Lexicon {
            interpolation: Interpolation::Hash,
            backquote: Some(Interpolation::Hash),
            regex: true,
            heredoc: Some("<<"),
            ..SCRIPT
        },
        "elixir" => {
            Lexicon { triple: true, interpolation: Interpolation::Hash, single: SingleQuote::Same, ..SCRIPT }
        }
        "bash" => Lexicon { interpolation: Interpolation::DollarName, named_by_colon: false, ..SCRIPT },
        "lua" | "haskell" | "sql" => Lexicon { line_comments: &["--"], ..C_LIKE },
        _ => C_LIKE,
    }
}
