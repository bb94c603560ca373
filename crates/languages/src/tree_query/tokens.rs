//! Splits the text of a query into tokens.

/// A token of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
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

/// All tokens, without comments.
///
/// # Errors
/// A message for an unexpected character or an unterminated string.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (word, used) = match first {
            c if c.is_whitespace() => (None, c.len_utf8()),
            ';' => (None, rest.find('\n').unwrap_or(rest.len())),
            '(' | ')' | '[' | ']' | '.' | '!' | ':' | '?' | '*' | '+' | '/' => (Some(Token::Mark(first)), 1),
            '@' => {
                let name = name(&rest[1..]);
                (Some(Token::Capture(name)), 1 + name.len())
            }
            '#' => {
                let name = name(&rest[1..]);
                // A final `?` or `!` belongs to the name.
                let used = 1 + name.len() + usize::from(rest[1 + name.len()..].starts_with(['?', '!']));
                (Some(Token::Predicate(&rest[1..used])), used)
            }
            '"' => {
                let (value, used) = string(rest).ok_or("a string does not end")?;
                (Some(Token::Text(value)), used)
            }
            _ => match name(rest) {
                "" => return Err(format!("unexpected character `{first}`")),
                name => (Some(Token::Name(name)), name.len()),
            },
        };
        tokens.extend(word);
        rest = &rest[used..];
    }
    Ok(tokens)
}

/// Names of the captures in a query's text, with duplicates, without parsing the query.
pub(crate) fn capture_names(text: &str) -> Vec<&str> {
    let tokens = tokens(text).unwrap_or_default().into_iter();
    tokens.filter_map(|word| if let Token::Capture(name) = word { Some(name) } else { None }).collect()
}

fn name(text: &str) -> &str {
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(text.len());
    &text[..end]
}

/// The string literal at the start of `text`, and its length in bytes.
fn string(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => {
                escaped = false;
                value.push(match c {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '0' => '\0',
                    other => other,
                });
            }
            '\\' => escaped = true,
            '"' => return Some((value, at + 1)),
            other => value.push(other),
        }
    }
    None
}
