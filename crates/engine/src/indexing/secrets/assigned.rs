//! Finds values that are assigned to the names of secrets: assignments, arguments, headers, XML, connection strings.

use std::ops::Range;

use super::attributes;
use super::defaults;
use super::file_format::FileFormat;
use super::lists;
use super::name_in_text::{NameInText, Operator, space_count};
use super::names::{ClassCache, SecretClass};
use super::quoted;
use super::unquoted;
use super::values::{self, VALUE_BYTES_MAX, ValueContext};

/// An unquoted value of more bytes is examined once, even if it contains further names.
const RESCANNED_BYTES_MAX: usize = 512;
/// Longest body of a Terraform variable before its default, in bytes.
const VARIABLE_BYTES_MAX: usize = 400;

/// Shortest item of a list that is taken for a secret, in bytes.
const ITEM_BYTES_MIN: usize = 16;

/// Returns the ranges of the secrets assigned to a name: one, or those of a list. Sets `examined_end` to the end of a long unquoted value,
/// so that the names inside it are not examined again.
pub(super) fn secrets<'t>(
    mut name: NameInText<'t>,
    class_cache: &mut ClassCache<'t>,
    examined_end: &mut usize,
) -> Vec<Range<usize>> {
    let Some((operator, at)) = operator(&mut name) else { return Vec::new() };
    let name = name.with_word_before(operator);
    let Some(class) = class_cache.get(name.name()) else { return Vec::new() };
    let if_secret = |(range, context): (Range<usize>, ValueContext)| {
        let range = without_scheme(name.text, range, class)?;
        values::is_secret(name.text.get(range.clone())?, class, context).then_some(range)
    };
    let found = value(&name, operator, at, class);
    if let Some((range, _)) = &found
        && range.len() > RESCANNED_BYTES_MAX
        // The range excludes spaces at the beginning of a quoted value.
        && !name.text[..range.start].trim_end().ends_with(['"', '\'', '`'])
    {
        *examined_end = range.end;
    }
    let mut secrets: Vec<Range<usize>> = found.and_then(if_secret).into_iter().collect();
    if matches!(operator, Operator::Equals { .. } | Operator::Colon) {
        // Lists of names of secrets that are stored elsewhere are common: an item must look random.
        let items = lists::items(&name, at).into_iter().chain(lists::lines(&name, at));
        // The features of a package have names with a common beginning.
        let is_long = |range: &Range<usize>| {
            range.len() >= ITEM_BYTES_MIN && !name.name().starts_with(&name.text[range.clone()])
        };
        secrets.extend(items.filter(is_long).filter_map(|range| if_secret((range, ValueContext::Code))));
    }
    if secrets.is_empty() {
        let context = quoted_context(&name, operator).min(ValueContext::Config);
        secrets.extend(defaults::literals(name, operator, at).find_map(|range| if_secret((range, context))));
    }
    secrets
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the operator after the name, and the start of the value.
fn operator(name: &mut NameInText<'_>) -> Option<(Operator, usize)> {
    let bytes = name.text.as_bytes();
    let name_end = skip_closers(name)?;
    if let Some(at) = defaults::lookup_end(name, name_end) {
        return Some((Operator::Lookup, at));
    }
    // Fast path: most names are read, not assigned.
    if matches!(bytes.get(name_end), None | Some(b')' | b';' | b'.' | b'&' | b'*' | b'%' | b'/')) {
        return None;
    }
    if !name.quoted && opens_argument(&bytes[name_end..]) {
        return Some((Operator::Argument, name_end + 1));
    }
    if let Some(at) = attributes::element_value_start(name, name_end) {
        return Some((Operator::Element, at));
    }
    let spaces_before = space_count(bytes, name_end);
    let at = name_end + spaces_before;
    let rest = &bytes[at..];
    if let Some(sign) = DEFAULT_SIGNS.into_iter().find(|sign| rest.starts_with(sign))
        && spaces_before == 0
        && name.byte_before() == Some(b'{')
    {
        return Some((Operator::Default, at + sign.len()));
    }
    if let Some(sign) = EQUALS_SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        let spaces_after = space_count(bytes, at + sign.len());
        let tight = sign == b"=" && spaces_before == 0 && spaces_after == 0;
        return Some((Operator::Equals { tight }, at + sign.len() + spaces_after));
    }
    // `$ENV{NAME} // '…'`
    if rest.starts_with(b"// ") && bytes[name_end - 1] == b'}' {
        return Some((Operator::Equals { tight: false }, at + 3));
    }
    if rest.starts_with(b":") && !rest.starts_with(b"::") {
        return Some(colon_operator(name, at + 1));
    }
    // `"token" or "…"`; the pairs of Kotlin and Scala: `"token" to "…"`, `"token" -> "…"`.
    if name.quoted
        && let Some(word) = [&b"or "[..], b"to ", b"-> "].into_iter().find(|word| rest.starts_with(word))
    {
        return Some((Operator::Argument, at + word.len()));
    }
    if let Some(is) = [&b"is "[..], b"is: "].into_iter().find(|is| rest.starts_with(is))
        && spaces_before > 0
    {
        return Some((Operator::Is, at + is.len()));
    }
    if (name.quoted || matches!(name.format, FileFormat::Yaml | FileFormat::Prose))
        && let Some(at) = attributes::attribute_value_start(name, at)
    {
        return Some((Operator::Colon, at));
    }
    if rest.starts_with(b",") && (name.quoted || is_symbol(name)) {
        return Some((Operator::Argument, at + 1 + space_count(bytes, at + 1)));
    }
    if let Some(at) =
        variable_default_start(name, at).or_else(|| typed_value_start(name, at).filter(|_| spaces_before > 0))
    {
        return Some((Operator::Equals { tight: false }, at));
    }
    // Only flags, directives, `setenv` and `#define` separate the value with spaces alone.
    let has_value = name.dashes > 0
        || name.format.is_shell()
        || name.format == FileFormat::Properties
        || matches!(bytes.get(at), Some(b'"' | b'\'' | b'`'))
        || unquoted::follows_setter(name);
    (spaces_before > 0 && has_value).then_some((Operator::Spaces, at))
}

/// Returns whether an argument follows a name: `token("…")`, and `token{"…"}` of C++.
fn opens_argument(rest: &[u8]) -> bool {
    match rest {
        [b'(', next, ..] => *next != b')',
        [b'{', next, ..] => *next == b'"',
        _ => false,
    }
}

/// Returns whether the name is a symbol, as in `set :token, "…"` of Ruby. In `a::TOKEN, "…"` it is another name.
fn is_symbol(name: &NameInText<'_>) -> bool {
    let before = name.line_before();
    name.format == FileFormat::Code
        && before.ends_with(':')
        && !before.trim_end_matches(':').ends_with(is_word)
}

/// Separators between the name of a shell variable and its default, longer ones first.
const DEFAULT_SIGNS: [&[u8]; 3] = [b":-", b":=", b"-"];

/// Assignment and comparison operators, longer ones first.
const EQUALS_SIGNS: [&[u8]; 15] = [
    b"===", b"!==", b"??=", b"||=", b"==", b"!=", b"=>", b":=", b"?=", b"+=", b"?:", b"||", b"??", b"<-",
    b"=",
];

/// Returns the end of the characters that close a name: its quote, the bracket of an index or of an item of a Perl hash. Records in `name`
/// that it is quoted.
fn skip_closers(name: &mut NameInText<'_>) -> Option<usize> {
    let bytes = name.text.as_bytes();
    let mut at = name.end;
    let is = |at: usize, choices: &[u8]| bytes.get(at).is_some_and(|byte| choices.contains(byte));
    at += usize::from(is(at, b"\\") && is(at + 1, b"\"'"));
    if is(at, b"\"'`") {
        name.quoted = true;
        at += 1;
    }
    if is(at, b"]") {
        at += 1;
    } else if is(at, b"[") {
        at += 1 + bytes[at + 1..].iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
        if !is(at, b"]") {
            return None;
        }
        at += 1;
    }
    at += usize::from(name.quoted && is(at, b")"));
    // `$ENV{NAME}`, but not `${NAME}`.
    let is_item = name.format == FileFormat::Code
        && name.byte_before() == Some(b'{')
        && bytes.get(name.start.wrapping_sub(name.dashes + 2)).is_some_and(u8::is_ascii_alphanumeric);
    at += usize::from(is_item && is(at, b"}"));
    // `password?: …`
    at += usize::from(is(at, b"?!") && is(at + 1, b":") && !is(at + 2, b":"));
    Some(at)
}

/// Returns the start of the value in `variable "db_password" { default = "…" }`.
fn variable_default_start(name: &NameInText<'_>, at: usize) -> Option<usize> {
    let bytes = name.text.as_bytes();
    if !name.quoted || bytes.get(at) != Some(&b'{') || !name.line_before().ends_with("variable \"") {
        return None;
    }
    let end = name.text.floor_char_boundary((at + VARIABLE_BYTES_MAX).min(bytes.len()));
    let body = name.text[at..end].split('}').next()?;
    let default = body.find("default")?;
    let value = at + default + body[default..].find('=')? + 1;
    Some(value + space_count(bytes, value))
}

/// Returns the start of the value in `var token string = "…"`, `Dim Token As String = "…"`.
fn typed_value_start(name: &NameInText<'_>, at: usize) -> Option<usize> {
    let bytes = name.text.as_bytes();
    if name.quoted || name.format != FileFormat::Code || !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let is_type_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'*');
    let at = at + if bytes[at..].starts_with(b"As ") { 3 } else { 0 };
    let at = at + bytes[at..].iter().take(24).take_while(is_type_byte).count();
    let at = at + space_count(bytes, at);
    let assigns = bytes.get(at) == Some(&b'=') && !matches!(bytes.get(at + 1), Some(b'=' | b'>'));
    assigns.then(|| at + 1 + space_count(bytes, at + 1))
}

/// Returns the operator and the start of the value in `name: value`, or `name: Type = value` in code.
fn colon_operator(name: &NameInText<'_>, at: usize) -> (Operator, usize) {
    let bytes = name.text.as_bytes();
    let at = at + space_count(bytes, at);
    if name.format == FileFormat::Code {
        let type_length = bytes[at..]
            .iter()
            .take(40)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_&<>[]?.'* |:".contains(byte))
            .count();
        let sign = at + type_length;
        let assigns = bytes.get(sign) == Some(&b'=') && !matches!(bytes.get(sign + 1), Some(b'=' | b'>'));
        if type_length > 0 && assigns {
            return (Operator::Equals { tight: false }, sign + 1 + space_count(bytes, sign + 1));
        }
    }
    (Operator::Colon, unquoted::after_node_properties(name, at))
}

/// Returns the range and context of the value.
fn value(
    name: &NameInText<'_>,
    operator: Operator,
    at: usize,
    class: SecretClass,
) -> Option<(Range<usize>, ValueContext)> {
    let bytes = name.text.as_bytes();
    match operator {
        Operator::Element => Some((attributes::element_text(name.text, at)?, ValueContext::Config)),
        Operator::Lookup => None,
        Operator::Default => {
            let end = at
                + bytes[at..].iter().take(VALUE_BYTES_MAX).position(|byte| matches!(byte, b'}' | b'\n'))?;
            let context = quoted_context(name, operator).min(ValueContext::Config);
            let range = quoted::content(name, at).filter(|range| range.end < end);
            Some((range.unwrap_or_else(|| quoted::trimmed(name.text, at..end)), context))
        }
        _ => match quoted::content(name, at) {
            Some(range) => Some((range, quoted_context(name, operator))),
            None => unquoted::value(name, operator, at, class),
        },
    }
}

/// Returns the context of a quoted value.
fn quoted_context(name: &NameInText<'_>, operator: Operator) -> ValueContext {
    let is_flag = name.dashes > 0 && matches!(operator, Operator::Equals { .. } | Operator::Spaces);
    match name.format {
        _ if operator == Operator::Is => ValueContext::Code,
        FileFormat::Env | FileFormat::Properties if operator != Operator::Argument => ValueContext::EnvFile,
        FileFormat::Yaml | FileFormat::Data | FileFormat::Markup | FileFormat::Shell | FileFormat::Make => {
            ValueContext::Config
        }
        FileFormat::Prose
            if is_flag
                || name.is_upper()
                    && (matches!(operator, Operator::Equals { tight: true })
                        || operator == Operator::Spaces && unquoted::follows_setter(name)) =>
        {
            ValueContext::Config
        }
        _ => ValueContext::Code,
    }
}

/// Returns the value of an `Authorization` header without its scheme (`Bearer …`).
pub(super) fn without_scheme(text: &str, range: Range<usize>, class: SecretClass) -> Option<Range<usize>> {
    if class == SecretClass::Password {
        return Some(range);
    }
    let value = text.get(range.clone())?;
    let Some((scheme, rest)) = value.split_once([' ', '=']) else { return Some(range) };
    let is_scheme = [
        "bearer", "basic", "token", "bot", "apikey", "api-key", "api-token", "key", "ssws", "oauth",
        "splunk", "genie",
    ]
    .contains(&scheme.to_ascii_lowercase().as_str());
    if !is_scheme {
        return Some(range);
    }
    let inner = rest.trim_start().trim_start_matches("token=").trim_start_matches(['"', '\\']);
    let start = range.end - inner.len();
    let length = inner.find([' ', '"', ',', '\\']).unwrap_or(inner.len());
    Some(start..start + length)
}
