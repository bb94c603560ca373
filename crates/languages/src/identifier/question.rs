//! Reads a name as people write it, with the names around it: `Context.json`, `Vec#<=>`, `Repo.get!/2`, `Foo.#load`, `a::operator==`.

use super::operator::{self, OPERATOR};

/// A name with the names of its containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionName {
    /// The names of the containers, outermost first.
    pub container: Vec<String>,
    /// The name itself, with its marks.
    pub name: String,
}

/// Separators between names, the longer before those that they begin with.
const SEPARATORS: &[&str] = &["::", "->", "?.", "!.", "&.", ".", "#", "\\", "/"];
/// Marks before a name that are part of how it is written.
const LEADING: [char; 8] = ['$', '@', '#', '&', '*', ':', '%', '~'];
/// Marks after a name.
const TRAILING: [char; 4] = ['!', '?', '\'', '='];
/// Punctuation that a sentence leaves around a name.
const PUNCTUATION: [char; 4] = [',', ';', '.', ':'];
/// Maximum number of names of a chain.
const PARTS_MAX: usize = 32;

/// Splits the text of a name; `None` if it is not a name. A name has white space only between backticks, and after the word `operator`:
/// `operator +`, `operator new[]`, `operator std::string`.
#[must_use]
pub fn split_name(text: &str) -> Option<QuestionName> {
    let text = text.trim();
    let bare = text.trim_end_matches(PUNCTUATION);
    let text = if bare.contains(is_word) { bare } else { text };
    let mut container = Vec::new();
    // `::std::mem`, `.field`: names that begin with a separator, but `->` is an operator.
    let mut rest = ["::", ".", "\\"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
        .filter(|rest| begins(rest))
        .unwrap_or(text);
    while container.len() < PARTS_MAX {
        let (name, after) = first_name(rest)?;
        let Some(next) = after else { return Some(QuestionName { container, name }) };
        container.push(name.strip_prefix("r#").map_or(name.clone(), str::to_owned));
        rest = next;
    }
    None
}

/// The first name of a chain, and what follows its separator.
fn first_name(text: &str) -> Option<(String, Option<&str>)> {
    if let Some((name, after)) = quoted(text) {
        return end_or_next(name, after);
    }
    if !begins(text) {
        let name = signs_at(text)?;
        return Some((name.to_owned(), None));
    }
    if let Some(name) = operator::asked(text) {
        return Some((name, None));
    }
    if let Some(signs) = text.strip_prefix(OPERATOR).filter(|signs| is_operator_of_cpp(signs)) {
        let signs = signs_at(signs.trim_start())?;
        return Some((format!("{OPERATOR}{signs}"), None));
    }
    let leading = text.len() - text.trim_start_matches("r#").trim_start_matches(LEADING).len();
    let word = text[leading..].find(|c: char| !is_in_word(c)).map_or(text.len(), |end| leading + end);
    // A hyphen at the end begins an arrow.
    let word = text[..word].trim_end_matches('-').len();
    let marks = text[word..].find(|c: char| !TRAILING.contains(&c)).map_or(text.len(), |end| word + end);
    // A mark before a dot is that of an access: `a?.b`.
    let is_access = marks > word && text[marks..].starts_with('.') && begins(&text[marks + 1..]);
    let end = if is_access { word } else { marks };
    end_or_next(text[..end].to_owned(), &text[end..])
}

/// A name with what follows it: nothing, arguments, a separator with the next name, or the arity.
fn end_or_next(name: String, after: &str) -> Option<(String, Option<&str>)> {
    let after = without_type_arguments(after)?;
    if after.is_empty() || after.starts_with('(') {
        return Some((name, None));
    }
    let separator = SEPARATORS.iter().find(|separator| after.starts_with(**separator))?;
    let next = &after[separator.len()..];
    let is_arity = *separator == "/" && !next.is_empty() && next.bytes().all(|byte| byte.is_ascii_digit());
    match next.is_empty() || is_arity {
        true => Some((name, None)),
        false => Some((name, Some(next))),
    }
}

/// A name between backticks, without them, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (name, after) = text.strip_prefix('`')?.split_once('`')?;
    (!name.is_empty()).then(|| (name.to_owned(), after))
}

/// Returns the text after the arguments in angle brackets, such as `<T, U>`; `None` if they are not closed.
fn without_type_arguments(text: &str) -> Option<&str> {
    if !text.starts_with('<') {
        return Some(text);
    }
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return Some(&text[at + 1..]),
            '>' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The name of an operator at the start of a text that ends with it, or has arguments after it.
fn signs_at(text: &str) -> Option<&str> {
    let pairs = ["()", "[]=", "[]"];
    let own = pairs.iter().find(|pair| text.starts_with(**pair)).map_or(0, |pair| pair.len());
    // Brackets around it belong to how it is written: `(<+>)`.
    let end = match text[own..].find('(').filter(|at| own + at > 0) {
        Some(at) => own + at,
        None => text.len(),
    };
    let signs = text[..end].trim_end();
    let is_sign =
        |c: char| !c.is_alphanumeric() && c != '_' && !c.is_whitespace() && !c.is_control() && c != ';';
    (!signs.is_empty() && signs.chars().all(is_sign)).then_some(signs)
}

/// Checks whether the text after the word `operator` is that of an operator, and not of another name.
fn is_operator_of_cpp(signs: &str) -> bool {
    let signs = signs.trim_start();
    let is_next_name =
        || SEPARATORS.iter().any(|separator| signs.strip_prefix(separator).is_some_and(begins));
    !signs.is_empty() && !signs.starts_with(is_word) && signs_at(signs).is_some() && !is_next_name()
}

/// Checks whether a name of letters begins here, perhaps with marks.
fn begins(text: &str) -> bool {
    let first = text.trim_start_matches("r#").trim_start_matches(LEADING).chars().next();
    first.is_some_and(|c| is_word(c) && !c.is_ascii_digit()) || text.starts_with(['$', '_', '`'])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

fn is_in_word(c: char) -> bool {
    is_word(c) || matches!(c, '$' | '-' | '~')
}
