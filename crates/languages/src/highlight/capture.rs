//! The names of captures in highlight queries, and their meanings.

use super::Highlight;

/// The colour that a capture gives to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// It has no colour of its own, and not that of the node around it either.
    Plain,
    /// An operator: a keyword if it is a word, else plain.
    Operator,
    /// It has this colour.
    Colour(Highlight),
}

/// First parts of capture names, and their meanings. The longest that fits counts; a part ends at a dot.
const NAMES: &[(&str, Mark)] = &[
    ("attribute", Mark::Colour(Highlight::Attribute)),
    ("boolean", Mark::Colour(Highlight::Constant)),
    ("character", Mark::Colour(Highlight::String)),
    ("character.special", Mark::Plain),
    ("comment", Mark::Colour(Highlight::Comment)),
    // Elixir's names that begin with an underscore.
    ("comment.unused", Mark::Plain),
    ("conditional", Mark::Colour(Highlight::Keyword)),
    ("constant", Mark::Colour(Highlight::Constant)),
    ("constructor", Mark::Colour(Highlight::Type)),
    ("delimiter", Mark::Plain),
    ("embedded", Mark::Plain),
    ("escape", Mark::Colour(Highlight::Escape)),
    ("exception", Mark::Colour(Highlight::Keyword)),
    ("field", Mark::Colour(Highlight::Property)),
    ("float", Mark::Colour(Highlight::Number)),
    ("function", Mark::Colour(Highlight::Function)),
    ("import", Mark::Colour(Highlight::Keyword)),
    ("include", Mark::Colour(Highlight::Keyword)),
    ("keyword", Mark::Colour(Highlight::Keyword)),
    ("label", Mark::Colour(Highlight::Constant)),
    ("method", Mark::Colour(Highlight::Function)),
    ("module", Mark::Colour(Highlight::Type)),
    ("namespace", Mark::Colour(Highlight::Type)),
    ("none", Mark::Plain),
    ("number", Mark::Colour(Highlight::Number)),
    ("operator", Mark::Operator),
    ("parameter", Mark::Plain),
    ("preproc", Mark::Colour(Highlight::Keyword)),
    ("property", Mark::Colour(Highlight::Property)),
    ("punctuation", Mark::Plain),
    ("repeat", Mark::Colour(Highlight::Keyword)),
    // Where to check the spelling.
    ("spell", Mark::Plain),
    ("storageclass", Mark::Colour(Highlight::Keyword)),
    ("string", Mark::Colour(Highlight::String)),
    ("string.escape", Mark::Colour(Highlight::Escape)),
    ("string.special.key", Mark::Colour(Highlight::Property)),
    ("string.special.symbol", Mark::Colour(Highlight::Constant)),
    ("tag", Mark::Colour(Highlight::Tag)),
    ("tag.attribute", Mark::Colour(Highlight::Attribute)),
    ("text.literal", Mark::Colour(Highlight::String)),
    ("text.reference", Mark::Colour(Highlight::Constant)),
    ("text.title", Mark::Colour(Highlight::Heading)),
    ("text.uri", Mark::Colour(Highlight::String)),
    ("type", Mark::Colour(Highlight::Type)),
    ("type.qualifier", Mark::Colour(Highlight::Keyword)),
    ("variable", Mark::Plain),
    // `self`, `this`, `super`.
    ("variable.builtin", Mark::Colour(Highlight::Keyword)),
    ("variable.member", Mark::Colour(Highlight::Property)),
];

/// Returns the meaning of a capture; `None` for an unknown name, which a test finds.
pub(super) fn mark(capture: &str) -> Option<Mark> {
    let fits =
        |name: &str| capture.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    NAMES.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len()).map(|(_, mark)| *mark)
}

impl Mark {
    /// Returns the mark for a node with this text. `is_token` is `true` for a node that is named by its own text, such as `:` and `fn`.
    ///
    /// Some queries give the colour of words to symbols that act like them, such as the `?` and `:` of a condition; these stay
    /// plain as in all other languages.
    pub(super) fn of(self, text: &str, is_token: bool) -> Self {
        use Highlight::{Constant, Keyword, Property, Type};
        let is_symbol = || !text.contains(char::is_alphabetic);
        match self {
            Self::Operator if is_token && !is_symbol() => Self::Colour(Keyword),
            Self::Operator => Self::Plain,
            Self::Colour(Keyword | Type | Constant | Property) if is_token && is_symbol() => Self::Plain,
            other => other,
        }
    }
}
