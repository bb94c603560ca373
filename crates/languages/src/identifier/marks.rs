//! The marks of each language: which of them are part of a name, and which are only written around it.

use super::normal::nfc;
use super::operator::{self, OPERATOR, is_word};
use crate::terms::squash;

/// The way in which the languages of a row write names.
#[derive(Debug)]
pub(crate) struct Marks {
    /// Their ids; the last row of the table has none and is for all others.
    languages: &'static [&'static str],
    /// Pairs around a name that are not part of it: `` `a name` ``, `@"a name"`, `(<+>)`.
    around: &'static [(&'static str, &'static str)],
    /// Before a name that would be a keyword: `r#match`, `@class`.
    escape: &'static [&'static str],
    /// Before a name where it is used, and not part of it: `$name`, `&name`, `@name`.
    before: &'static [&'static str],
    /// After a name where it is used, and not part of it: `vec!`.
    after: &'static [&'static str],
    /// Characters besides letters, digits and `_` that a name may have anywhere.
    inside: &'static [char],
    /// Characters with which a name may end.
    last: &'static [char],
    /// `true` if a word and white space may be the beginning of a name: `operator bool`, `operator new[]`.
    typed_operators: bool,
    /// The operators of the language's own library, whose uses are not reported because every file has them. `None` if no uses of operators
    /// are reported.
    own_operators: Option<&'static [&'static str]>,
}

/// The notation of all other languages: no escapes, and no marks in names.
const PLAIN: Marks = Marks {
    languages: &[],
    around: &[],
    escape: &[],
    before: &[],
    after: &[],
    inside: &[],
    last: &[],
    typed_operators: false,
    own_operators: None,
};

/// One row for each group of languages that write names alike.
static TABLE: &[Marks] = &[
    Marks { languages: &["ruby", "crystal"], before: &[":", "&:", "&"], last: &['!', '?', '='], ..PLAIN },
    Marks { languages: &["elixir"], before: &["&", ":"], last: &['!', '?'], ..PLAIN },
    Marks {
        languages: &["haskell", "elm", "purescript"],
        around: &[("(", ")"), ("`", "`")],
        inside: &['\''],
        own_operators: Some(PRELUDE_OF_HASKELL),
        ..PLAIN
    },
    Marks {
        languages: &["fsharp", "ocaml"],
        around: &[("``", "``"), ("( ", " )"), ("(", ")")],
        inside: &['\''],
        ..PLAIN
    },
    Marks {
        languages: &["javascript", "typescript", "tsx", "svelte", "vue", "astro"],
        before: &["@"],
        after: &["!", "?"],
        inside: &['$'],
        ..PLAIN
    },
    Marks { languages: &["rust"], escape: &["r#"], before: &["&", "*", "$"], after: &["!", "?"], ..PLAIN },
    Marks {
        languages: &["csharp"],
        around: &[("[", "]")],
        escape: &["@"],
        before: &["operator"],
        after: &["?", "!"],
        ..PLAIN
    },
    Marks { languages: &["kotlin"], around: &[("`", "`")], before: &["@"], after: &["!!", "?"], ..PLAIN },
    Marks { languages: &["scala"], around: &[("`", "`")], before: &["@"], inside: &['$'], ..PLAIN },
    Marks {
        languages: &["swift"],
        around: &[("`", "`")],
        before: &["@", "#", "operator"],
        after: &["!", "?"],
        inside: &['$'],
        ..PLAIN
    },
    Marks { languages: &["groovy", "dart"], before: &["@"], after: &["?", "!"], inside: &['$'], ..PLAIN },
    Marks { languages: &["java"], before: &["@"], inside: &['$'], ..PLAIN },
    Marks { languages: &["python"], before: &["@"], ..PLAIN },
    Marks { languages: &["php"], before: &["$", "\\", "&", "@"], ..PLAIN },
    Marks { languages: &["perl"], before: &["$", "@", "%", "&"], ..PLAIN },
    Marks { languages: &["cpp"], before: &["&", "*"], typed_operators: true, ..PLAIN },
    Marks { languages: &["c", "go"], before: &["&", "*"], ..PLAIN },
    Marks { languages: &["sql"], around: &[("\"", "\""), ("`", "`"), ("[", "]")], ..PLAIN },
    Marks { languages: &["zig"], around: &[("@\"", "\"")], before: &["&"], ..PLAIN },
    Marks { languages: &["bash"], around: &[("${", "}")], before: &["$"], inside: &['-', ':'], ..PLAIN },
    Marks { languages: &["r"], around: &[("`", "`")], ..PLAIN },
    Marks { languages: &["julia"], before: &["@"], last: &['!'], ..PLAIN },
    Marks {
        languages: &["clojure", "racket", "scheme", "lisp"],
        before: &["#'", "'"],
        last: &['!', '?', '*', '\''],
        ..PLAIN
    },
    PLAIN,
];

/// Quotes that are not part of a name in any language, because questions and documents set them around names.
const QUOTES: &[&str] = &["\"", "'", "`"];
/// Marks of any language that a name may lose to become bare.
const LEADING: [char; 9] = ['$', '@', '#', '&', '*', ':', '.', '%', '\''];
const TRAILING: [char; 7] = ['!', '?', '\'', '=', '$', '*', '#'];
/// The operators that every module of Haskell sees, and the sign of equal types.
const PRELUDE_OF_HASKELL: &[&str] = &[
    "!!", "$", "$!", "&&", "*", "**", "*>", "+", "++", "-", ".", "/", "/=", "<", "<$", "<$>", "<*", "<*>",
    "<=", "<>", "=<<", "==", ">", ">=", ">>", ">>=", "^", "^^", "||", "~",
];
/// Marks with which a bare name is tried, in the order of how often names have them.
const NEAR: &[(&str, &str)] =
    &[("", "!"), ("", "?"), ("", "'"), ("", "="), ("", "$"), ("$", ""), ("#", ""), ("@", "")];

impl Marks {
    /// The row of a language.
    pub(crate) fn of(language: &str) -> &'static Self {
        let found = TABLE.iter().find(|marks| marks.languages.contains(&language));
        found.unwrap_or(&PLAIN)
    }

    /// All rows.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        TABLE.iter()
    }

    /// The languages of the row; empty for all that no other row names.
    pub(crate) fn languages(&self) -> &'static [&'static str] {
        self.languages
    }

    /// Checks whether the character may be anywhere in a name, besides letters, digits and `_`.
    pub(crate) fn is_inside(&self, c: char) -> bool {
        self.inside.contains(&c)
    }

    /// Checks whether a name may end with the character.
    pub(crate) fn is_last(&self, c: char) -> bool {
        self.last.contains(&c) || self.is_inside(c)
    }

    /// Checks whether this text precedes names that would be keywords.
    pub(crate) fn escapes_with(&self, mark: &str) -> bool {
        self.escape.contains(&mark)
    }

    /// The character that ends a name which this one begins, if names may be written between the two: the backtick.
    pub(crate) fn closing(&self, c: char) -> Option<char> {
        let is_it = |(open, _): &&(&str, &str)| open.len() == 1 && open.starts_with(c) && c == '`';
        self.around.iter().find(is_it).map(|_| c)
    }

    /// Checks whether a name is that of an operator, which is called without a name of letters.
    pub(crate) fn is_operator(&self, name: &str) -> bool {
        let has_signs = |text: &str| {
            let is_sign = |c: char| !is_word(c) && !c.is_whitespace() && !self.is_inside(c);
            !text.contains(is_word) && text.contains(is_sign)
        };
        has_signs(name) || (self.typed_operators && operator::of_cpp(name).is_some())
    }

    /// Checks whether uses of an operator are reported.
    pub(crate) fn reports_operator(&self, operator: &str) -> bool {
        self.own_operators.is_some_and(|own| !own.contains(&operator))
    }

    /// A name as the index has it: without what is only written around it, in the form in which texts are compared.
    pub(crate) fn stored(&self, written: &str) -> String {
        let normal = nfc(written.trim());
        let mut name = normal.as_ref();
        let quoted = QUOTES.iter().map(|quote| (*quote, *quote));
        for (open, close) in self.around.iter().copied().chain(quoted) {
            if let Some(inner) = between(name, open, close) {
                // The text between marks is the whole name.
                return inner.to_owned();
            }
        }
        let escaped = self.escape.iter().find_map(|mark| name.strip_prefix(mark));
        name = escaped.filter(|rest| rest.starts_with(is_word)).unwrap_or(name);
        if self.typed_operators
            && let Some(operator) = operator::of_cpp(name)
        {
            return operator;
        }
        match operator::signs(name) {
            Some(signs) => format!("{OPERATOR}{signs}"),
            None => name.to_owned(),
        }
    }

    /// The stored form of a name that is written as where it is used.
    fn used(&self, written: &str) -> String {
        // `&&&` is an operator, and no name with a mark.
        let begins = |rest: &&str, mark: &str| match mark {
            OPERATOR => is_signs(rest),
            _ => rest.starts_with(is_word),
        };
        let before =
            |mark: &&str| written.strip_prefix(*mark).map(str::trim_start).filter(|rest| begins(rest, mark));
        let name = self.before.iter().find_map(before).unwrap_or(written);
        let after = |mark: &&str| name.strip_suffix(*mark).filter(|rest| rest.ends_with(is_word));
        self.stored(self.after.iter().find_map(after).unwrap_or(name))
    }
}

/// Returns the text between two marks, if there is any.
fn between<'n>(name: &'n str, open: &str, close: &str) -> Option<&'n str> {
    let inner = name.strip_prefix(open)?.strip_suffix(close)?.trim();
    // `"a"."b"` is not a quoted name, and `(a)(b)` is not a name in brackets.
    (!inner.is_empty() && !inner.contains(close)).then_some(inner)
}

/// Checks whether a text consists only of signs, like the name of an operator.
fn is_signs(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_alphanumeric() || c == '_' || c.is_whitespace())
}

/// The degree to which a requested spelling agrees with a name of the index; the worse first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// Only the letters are equal: `get!` and `get`.
    Bare,
    /// Both are the same name in the language.
    Same,
}

/// Compares a requested spelling with a name that is defined in a language. Returns `None` if it is another name.
#[must_use]
pub fn closeness(language: Option<&str>, asked: &str, name: &str) -> Option<Closeness> {
    let asked = nfc(asked.trim());
    let marks = language.map_or(&PLAIN, Marks::of);
    let is_same = |spelling: &str| {
        let is_operator =
            spelling.strip_prefix(OPERATOR) == Some(name) || name.strip_prefix(OPERATOR) == Some(spelling);
        spelling == name || (is_operator && is_signs(name.strip_prefix(OPERATOR).unwrap_or(name)))
    };
    if [asked.as_ref(), &marks.stored(&asked), &marks.used(&asked)].into_iter().any(is_same) {
        return Some(Closeness::Same);
    }
    let letters = bare(name);
    let is_bare = |spelling: &String| bare(spelling) == letters;
    spellings_of_name(&asked).iter().any(is_bare).then_some(Closeness::Bare)
}

/// The spellings under which the index may have what was asked, in one language or another; the one that was asked comes first.
#[must_use]
pub fn spellings_of_name(asked: &str) -> Vec<String> {
    let asked = nfc(asked.trim()).into_owned();
    let mut found = vec![asked.clone()];
    let mut add = |spelling: String| {
        if !spelling.is_empty() && !found.contains(&spelling) {
            found.push(spelling);
        }
    };
    for marks in Marks::all() {
        add(marks.stored(&asked));
        add(marks.used(&asked));
    }
    if is_signs(&asked) {
        add(format!("{OPERATOR}{asked}"));
    }
    found
}

/// The letters of a name, without the marks of any language before and after it. The name of an operator has no letters, and is
/// returned as it is.
#[must_use]
pub fn bare(name: &str) -> &str {
    if operator::signs(name).is_some() || operator::of_cpp(name).is_some() {
        return name;
    }
    let inner =
        name.strip_prefix("r#").unwrap_or(name).trim_start_matches(LEADING).trim_end_matches(TRAILING);
    if inner.starts_with(is_word) && inner.ends_with(is_word) { inner } else { name }
}

/// Other spellings of a name, for where nothing has it: without its marks, and with other ones.
#[must_use]
pub fn near_spellings(name: &str) -> Vec<String> {
    let letters = bare(name);
    if !letters.starts_with(is_word) {
        return Vec::new();
    }
    let marked = NEAR.iter().map(|(before, after)| format!("{before}{letters}{after}"));
    std::iter::once(letters.to_owned()).chain(marked).filter(|spelling| spelling != name).collect()
}

/// The key of a name: case, separators and marks do not matter. The name of an operator is its own key.
#[must_use]
pub fn fold(name: &str) -> String {
    let squashed = squash(name);
    if squashed.is_empty() || operator::signs(name).is_some() {
        nfc(name).split_whitespace().flat_map(str::chars).flat_map(char::to_lowercase).collect()
    } else {
        squashed
    }
}

/// A name without regard to case and naming style, but with its marks: `set_name=` and `setName=` are equal, `setName` is another. All
/// signs of an operator belong to it.
#[must_use]
pub fn spelled(name: &str) -> String {
    let is_operator = is_signs(name) || operator::signs(name).is_some();
    let is_kept = |c: &char| (is_operator || !matches!(c, '_' | '-')) && !c.is_whitespace();
    let kept: String = nfc(name).chars().filter(is_kept).flat_map(char::to_lowercase).collect();
    if kept.is_empty() { name.to_lowercase() } else { kept }
}
