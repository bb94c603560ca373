//! Finds the values of XML elements, and of the pairs of a `name` and a `value` attribute.

use std::ops::Range;

use super::name_in_text::NameInText;
use super::quoted;
use super::values::VALUE_BYTES_MAX;

/// Maximum number of spaces and line breaks between an element and its value.
const WHITESPACE_MAX: usize = 60;
/// Longest part between a name and its `value` attribute, in bytes.
const ATTRIBUTES_BYTES_MAX: usize = 300;
/// Maximum number of attributes after a name that are examined.
const ATTRIBUTES_MAX: usize = 3;

/// Returns the start of the value of an XML element: `<password>…`, `<entry key="password">…`, `<setting name="Token"><value>…`,
/// `<key>ApiKey</key><string>…`.
pub(super) fn element_value_start(name: &NameInText<'_>, at: usize) -> Option<usize> {
    const KEY_END: &[u8] = b"</key>";
    const STRING_START: &[u8] = b"<string>";
    const VALUE_START: &[u8] = b"<value>";
    let bytes = name.text.as_bytes();
    let at = if is_element(name) { after_attributes(name.text, at) } else { at };
    let rest = &bytes[at..];
    if rest.first() == Some(&b'>') && (name.quoted || is_element(name)) {
        let value = at + 1 + whitespace_count(bytes, at + 1);
        return Some(if bytes[value..].starts_with(VALUE_START) {
            value + VALUE_START.len()
        } else {
            at + 1
        });
    }
    let value = at + KEY_END.len();
    let value = rest.starts_with(KEY_END).then(|| value + whitespace_count(bytes, value))?;
    bytes[value..].starts_with(STRING_START).then_some(value + STRING_START.len())
}

/// Returns the `>` that ends the start tag, if attributes with quoted values are at `at`; otherwise `at`.
fn after_attributes(text: &str, at: usize) -> usize {
    let end = text.floor_char_boundary((at + ATTRIBUTES_BYTES_MAX).min(text.len()));
    let Some(attributes) = text.get(at..end).filter(|rest| rest.starts_with(' ')) else { return at };
    let attributes = attributes.split(['>', '<', '{', '\n']).next().unwrap_or(attributes);
    let is_start_tag = attributes.contains("=\"") && attributes.ends_with('"');
    let end = at + attributes.len();
    if is_start_tag && text[end..].starts_with('>') { end } else { at }
}

/// Returns the text of the element whose content begins at `at`: on the same line, or alone on a line of its own. It may be a CDATA
/// section.
pub(super) fn element_text(text: &str, at: usize) -> Option<Range<usize>> {
    const CDATA_START: &str = "<![CDATA[";
    const CDATA_END: &str = "]]>";
    let content = at + whitespace_count(text.as_bytes(), at);
    let window = text.get(content..text.floor_char_boundary((content + VALUE_BYTES_MAX).min(text.len())))?;
    let (start, length) = match window.strip_prefix(CDATA_START) {
        Some(section) => (content + CDATA_START.len(), section.find(CDATA_END)?),
        None => (content, window.find('<')?),
    };
    let end = start + length;
    let range = quoted::trimmed(text, start..end);
    let closes = text[end..].starts_with("</") || text[end..].starts_with(CDATA_END);
    let is_one_line = !text[range.clone()].contains('\n') && (closes || !text[at..end].contains('\n'));
    is_one_line.then_some(range)
}

fn whitespace_count(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(WHITESPACE_MAX).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns whether the name is that of an XML element, with or without a prefix: `<password>`, `<a:password>`.
fn is_element(name: &NameInText<'_>) -> bool {
    match name.byte_before() {
        Some(b'<') => true,
        Some(b':') => {
            name.line_before().trim_end_matches(':').rsplit('<').next().is_some_and(|prefix| {
                prefix.len() < 20 && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }) && name.line_before().contains('<')
        }
        _ => false,
    }
}

/// Returns the start of the value if the name is itself the value of a `name` or `key` attribute. Other attributes may come before the
/// value: `name = "adminPassword", type = "string", value = "…"`.
pub(super) fn attribute_value_start(name: &NameInText<'_>, at: usize) -> Option<usize> {
    const QUOTES: [char; 3] = ['"', '\'', '\\'];
    const NAME_WORDS: [&str; 7] = ["name", "Name", "key", "Key", "NAME", "parameterkey", "ParameterKey"];
    const VALUE_WORDS: [&str; 4] = ["value", "Value", "parameterValue", "ParameterValue"];
    let before = name.line_before().trim_end_matches(QUOTES).trim_end();
    let before = before.strip_suffix([':', '='])?.trim_end().trim_end_matches(QUOTES);
    if !NAME_WORDS.iter().any(|word| before.ends_with(word)) {
        return None;
    }
    let is_separator = |c: char| c.is_ascii_whitespace() || c == ',' || QUOTES.contains(&c);
    let end = name.text.floor_char_boundary((at + ATTRIBUTES_BYTES_MAX).min(name.text.len()));
    let mut rest = name.text.get(at..end)?;
    for _ in 0..ATTRIBUTES_MAX {
        rest = rest.trim_start_matches(is_separator);
        while rest.starts_with('#') || rest.starts_with("//") {
            rest = rest.split_once('\n')?.1.trim_start_matches(is_separator);
        }
        let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        let word = &rest[..rest.len() - after.len()];
        let value = after.trim_start_matches(|c| matches!(c, ' ' | '\t') || QUOTES.contains(&c));
        let value = value.strip_prefix([':', '=']).filter(|_| !word.is_empty())?;
        let value = value.trim_start_matches([' ', '\t']);
        if VALUE_WORDS.contains(&word) {
            return Some(end - value.len());
        }
        rest = &value[scalar_length(value)?..];
    }
    None
}

/// Returns the length of a quoted or unquoted value; `None` if it is empty or not a scalar.
fn scalar_length(value: &str) -> Option<usize> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    match quote {
        Some(quote) => Some(value[1..].find([quote, '\n'])? + 2),
        None => value.find([',', '\n', '{', '}', '[', '>']).filter(|length| *length > 0),
    }
}
