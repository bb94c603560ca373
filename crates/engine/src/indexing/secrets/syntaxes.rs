//! The syntax of strings and comments in languages, as far as redaction needs it: one row for each language.

use languages::Language;

use Code::{Expressions, Prose, Words};
use Escape::{Backslash, Doubled, Never};
use Extra::*;

/// The syntax of a language's strings and comments, and of the text between them.
#[derive(Debug)]
pub(super) struct Syntax {
    /// Kind of the text outside of strings and comments.
    pub(super) code: Code,
    /// Begin and end of comments, longer ones first; `"\n"` ends those that end with their line.
    pub(super) comments: &'static [(&'static str, &'static str)],
    /// Strings, longer openings first.
    pub(super) strings: &'static [Quote],
    /// Strings whose ends depend on their beginnings, and other peculiarities.
    pub(super) extras: &'static [Extra],
}

impl Syntax {
    pub(super) fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }
}

/// Kind of the text outside of strings and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Names, numbers and operators.
    Expressions,
    /// Words that need no quotes: shells, YAML, CSS.
    Words,
    /// Text for people: HTML, Markdown.
    Prose,
}

/// A kind of string.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    pub(super) escape: Escape,
    /// `true` if it may continue on the next line.
    pub(super) lines: bool,
    /// Begin and end of code inside it.
    pub(super) hole: Option<(&'static str, &'static str)>,
}

/// The escaped form of a string's end inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Backslash,
    Doubled,
    Never,
}

/// Peculiarities of a few languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    /// `'a'` is a character; otherwise `'` begins nothing.
    Characters,
    /// `/*` … `*/` contain further ones.
    NestedComments,
    /// `r#"…"#` and `r"…"`
    RustRaw,
    /// `#"…"#`
    SwiftRaw,
    /// `R"x(…)x"`
    CppRaw,
    /// `[==[…]==]`
    LongBrackets,
    /// `<<WORD`
    ShellHeredoc,
    /// `<<~WORD`
    RubyHeredoc,
    /// `<<<WORD`
    PhpHeredoc,
    /// `/…/`
    Regexes,
    /// Strings contain code only after the prefix `f` or `t`.
    FormatPrefix,
    /// `#` begins a comment only after a space.
    CommentAfterSpace,
    /// A quote begins a string only where a value can begin.
    QuoteAfterSpace,
    /// A quote may follow a word directly.
    QuoteAfterWord,
    /// Strings are only in tags.
    QuoteInTag,
    /// Names that begin with a capital are of a different kind from others.
    CapitalsDiffer,
    /// A line of a string that continues begins with a backslash as well.
    StringGaps,
}

const fn quote(open: &'static str, close: &'static str, escape: Escape) -> Quote {
    Quote { open, close, escape, lines: false, hole: None }
}

impl Quote {
    const fn lines(mut self) -> Self {
        self.lines = true;
        self
    }

    const fn hole(mut self, open: &'static str, close: &'static str) -> Self {
        self.hole = Some((open, close));
        self
    }
}

const SLASHES: &[(&str, &str)] = &[("/*", "*/"), ("//", "\n")];
const DOUBLE: Quote = quote("\"", "\"", Backslash);
const SINGLE: Quote = quote("'", "'", Backslash);

macro_rules! syntaxes {
    ($($($id:literal)|+ => $code:ident $comments:expr, [$($quote:expr),* $(,)?], [$($extra:expr),*];)*) => {
        /// Returns the syntax of a language; of a programming language without a row, that of most; `None` for documents and data.
        pub(super) fn of(language: &Language) -> Option<&'static Syntax> {
            match language.id {
                $($($id)|+ => {
                    static SYNTAX: Syntax = Syntax {
                        code: $code,
                        comments: $comments,
                        strings: &[$($quote),*],
                        extras: &[$($extra),*],
                    };
                    Some(&SYNTAX)
                })*
                _ => language.is_code().then_some(&OTHER),
            }
        }
    };
}

static OTHER: Syntax = Syntax { code: Prose, comments: &[], strings: &[DOUBLE, SINGLE], extras: &[] };

syntaxes! {
    "bash" => Words &[("#", "\n")],
        [
            quote("$'", "'", Backslash).lines(),
            quote("\"", "\"", Backslash).lines().hole("$(", ")"),
            quote("'", "'", Never).lines(),
        ],
        [ShellHeredoc, CommentAfterSpace, QuoteAfterWord];
    "c" | "objective-c" => Expressions SLASHES, [DOUBLE], [Characters];
    "clojure" | "scheme" | "lisp" | "emacs-lisp" => Expressions &[(";", "\n")], [DOUBLE.lines()], [];
    "cpp" | "cuda" => Expressions SLASHES, [DOUBLE], [Characters, CppRaw];
    "csharp" => Expressions SLASHES,
        [
            quote("\"\"\"", "\"\"\"", Never).lines(),
            quote("$@\"", "\"", Doubled).lines().hole("{", "}"),
            quote("@$\"", "\"", Doubled).lines().hole("{", "}"),
            quote("@\"", "\"", Doubled).lines(),
            quote("$\"", "\"", Backslash).hole("{", "}"),
            DOUBLE,
        ],
        [Characters];
    "css" | "scss" => Words SLASHES, [DOUBLE, SINGLE], [];
    "dart" => Expressions SLASHES,
        [
            quote("r\"", "\"", Never),
            quote("r'", "'", Never),
            quote("\"\"\"", "\"\"\"", Backslash).lines().hole("${", "}"),
            quote("'''", "'''", Backslash).lines().hole("${", "}"),
            quote("\"", "\"", Backslash).hole("${", "}"),
            quote("'", "'", Backslash).hole("${", "}"),
        ],
        [NestedComments];
    "elixir" => Expressions &[("#", "\n")],
        [
            quote("\"\"\"", "\"\"\"", Backslash).lines().hole("#{", "}"),
            quote("'''", "'''", Backslash).lines().hole("#{", "}"),
            quote("\"", "\"", Backslash).lines().hole("#{", "}"),
            quote("'", "'", Backslash).lines().hole("#{", "}"),
        ],
        [CapitalsDiffer];
    "erlang" => Expressions &[("%", "\n")], [DOUBLE.lines(), SINGLE], [CapitalsDiffer];
    "fsharp" => Expressions &[("(*", "*)"), ("//", "\n")],
        [quote("\"\"\"", "\"\"\"", Never).lines(), quote("@\"", "\"", Doubled).lines(), DOUBLE.lines()],
        [Characters, NestedComments];
    "go" => Expressions SLASHES, [DOUBLE, quote("`", "`", Never).lines()], [Characters];
    "groovy" | "gradle" => Expressions SLASHES,
        [
            quote("\"\"\"", "\"\"\"", Backslash).lines().hole("${", "}"),
            quote("'''", "'''", Backslash).lines(),
            quote("\"", "\"", Backslash).hole("${", "}"),
            SINGLE,
        ],
        [];
    "haskell" => Expressions &[("{-", "-}"), ("--", "\n")], [DOUBLE],
        [Characters, NestedComments, StringGaps, CapitalsDiffer];
    "hcl" | "graphql" | "prisma" | "proto" | "thrift" => Prose SLASHES, [DOUBLE], [];
    "html" | "vue" | "svelte" | "xml" => Prose &[("<!--", "-->")],
        [quote("\"", "\"", Never).lines(), quote("'", "'", Never).lines()],
        [QuoteInTag];
    "java" => Expressions SLASHES,
        [quote("\"\"\"", "\"\"\"", Backslash).lines(), DOUBLE], [Characters];
    "javascript" | "typescript" | "tsx" => Expressions SLASHES,
        [DOUBLE, SINGLE, quote("`", "`", Backslash).lines().hole("${", "}")], [Regexes];
    "json" => Expressions SLASHES, [DOUBLE, SINGLE], [];
    "julia" => Expressions &[("#=", "=#"), ("#", "\n")],
        [quote("\"\"\"", "\"\"\"", Backslash).lines(), DOUBLE.lines()], [Characters, NestedComments];
    "kotlin" => Expressions SLASHES,
        [
            quote("\"\"\"", "\"\"\"", Never).lines().hole("${", "}"),
            quote("\"", "\"", Backslash).hole("${", "}"),
        ],
        [Characters, NestedComments];
    "lua" => Expressions &[("--", "\n")], [DOUBLE, SINGLE], [LongBrackets];
    "markdown" => Prose &[("<!--", "-->")], [], [];
    "nim" => Expressions &[("#[", "]#"), ("#", "\n")],
        [quote("\"\"\"", "\"\"\"", Never).lines(), quote("r\"", "\"", Doubled), DOUBLE], [Characters, NestedComments];
    "nix" => Expressions &[("/*", "*/"), ("#", "\n")],
        [
            quote("''", "''", Never).lines().hole("${", "}"),
            quote("\"", "\"", Backslash).lines().hole("${", "}"),
        ],
        [];
    "ocaml" => Expressions &[("(*", "*)")], [DOUBLE.lines()], [Characters, NestedComments];
    "perl" => Expressions &[("\n=pod", "\n=cut"), ("\n=head", "\n=cut"), ("#", "\n")],
        [DOUBLE.lines(), SINGLE.lines()], [ShellHeredoc, CommentAfterSpace];
    "php" => Expressions &[("/*", "*/"), ("//", "\n"), ("#", "\n")],
        [
            quote("\"", "\"", Backslash).lines().hole("{$", "}"),
            quote("'", "'", Backslash).lines(),
        ],
        [PhpHeredoc];
    "powershell" => Words &[("<#", "#>"), ("#", "\n")],
        [
            quote("@\"", "\n\"@", Never).lines().hole("$(", ")"),
            quote("@'", "\n'@", Never).lines(),
            quote("\"", "\"", Doubled).lines().hole("$(", ")"),
            quote("'", "'", Doubled).lines(),
        ],
        [CommentAfterSpace];
    "python" | "jupyter" => Expressions &[("#", "\n")],
        [
            quote("\"\"\"", "\"\"\"", Backslash).lines().hole("{", "}"),
            quote("'''", "'''", Backslash).lines().hole("{", "}"),
            quote("\"", "\"", Backslash).hole("{", "}"),
            quote("'", "'", Backslash).hole("{", "}"),
        ],
        [FormatPrefix];
    "r" => Expressions &[("#", "\n")], [DOUBLE.lines(), SINGLE.lines()], [];
    "ruby" | "crystal" => Expressions &[("\n=begin", "\n=end"), ("#", "\n")],
        [
            quote("\"", "\"", Backslash).lines().hole("#{", "}"),
            quote("`", "`", Backslash).lines().hole("#{", "}"),
            quote("'", "'", Backslash).lines(),
        ],
        [RubyHeredoc, Regexes, CapitalsDiffer];
    "rust" => Expressions SLASHES, [quote("\"", "\"", Backslash).lines()], [Characters, NestedComments, RustRaw];
    "scala" => Expressions SLASHES,
        [
            quote("\"\"\"", "\"\"\"", Never).lines().hole("${", "}"),
            quote("\"", "\"", Backslash).hole("${", "}"),
        ],
        [Characters, NestedComments];
    "sql" => Expressions &[("/*", "*/"), ("--", "\n")],
        [quote("'", "'", Doubled).lines(), quote("\"", "\"", Doubled).lines()], [];
    "swift" => Expressions SLASHES,
        [
            quote("\"\"\"", "\"\"\"", Backslash).lines().hole("\\(", ")"),
            quote("\"", "\"", Backslash).hole("\\(", ")"),
        ],
        [NestedComments, SwiftRaw];
    "toml" => Expressions &[("#", "\n")],
        [
            quote("\"\"\"", "\"\"\"", Backslash).lines(),
            quote("'''", "'''", Never).lines(),
            DOUBLE,
            quote("'", "'", Never),
        ],
        [];
    "yaml" => Words &[("#", "\n")],
        [quote("\"", "\"", Backslash).lines(), quote("'", "'", Doubled).lines()],
        [CommentAfterSpace, QuoteAfterSpace];
    "zig" => Expressions &[("//", "\n"), ("\\\\", "\n")], [DOUBLE], [Characters];
}
