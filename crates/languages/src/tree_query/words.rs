//! A query's text to its words.

/// A word of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// One of `( ) [ ] . ! : ? * + /`.
    Mark(char),
    /// A kind of node or a field; `_` for any node.
    Name(&'a str),
    /// A capture, without `@`.
    Capture(&'a str),
    /// A predicate, without `#`, with its last character.
    Predicate(&'a str),
    /// A string, without quotes and escapes.
    Text(String),
}

/// All words, without comments.
///
/// # Errors
/// A character that no word begins with, or a string that does not end.
pub(super) fn words(text: &str) -> Result<Vec<Word<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (word, used) = match first {
            c if c.is_whitespace() => (None, c.len_utf8()),
            ';' => (None, rest.find('\n').unwrap_or(rest.len())),
            '(' | ')' | '[' | ']' | '.' | '!' | ':' | '?' | '*' | '+' | '/' => (Some(Word::Mark(first)), 1),
            '@' => {
                let name = name(&rest[1..]);
                (Some(Word::Capture(name)), 1 + name.len())
            }
            '#' => {
                let name = name(&rest[1..]);
                // The mark at the end belongs to the name.
                let used = 1 + name.len() + usize::from(rest[1 + name.len()..].starts_with(['?', '!']));
                (Some(Word::Predicate(&rest[1..used])), used)
            }
            '"' => {
                let (said, used) = string(rest).ok_or("a string does not end")?;
                (Some(Word::Text(said)), used)
            }
            _ => match name(rest) {
                "" => return Err(format!("`{first}` begins no word")),
                name => (Some(Word::Name(name)), name.len()),
            },
        };
        words.extend(word);
        rest = &rest[used..];
    }
    Ok(words)
}

/// Names of the captures in a query's text, also of a query that has not been read; with repetitions.
pub(crate) fn capture_names(text: &str) -> Vec<&str> {
    let words = words(text).unwrap_or_default().into_iter();
    words.filter_map(|word| if let Word::Capture(name) = word { Some(name) } else { None }).collect()
}

fn name(text: &str) -> &str {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(text.len());
    &text[..end]
}

/// The string at the start of `text`, and how many bytes it takes there.
fn string(text: &str) -> Option<(String, usize)> {
    let mut said = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => {
                escaped = false;
                said.push(match c {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                });
            }
            '\\' => escaped = true,
            '"' => return Some((said, at + 1)),
            other => said.push(other),
        }
    }
    None
}
