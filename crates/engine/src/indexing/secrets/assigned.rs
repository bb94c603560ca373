//! Values beside a name that says that they are secret: assignments, arguments, headers, XML, connection strings.

use std::ops::Range;

use super::names::{Class, Classes};
use super::places::Place;
use super::unquoted;
use super::values::{self, Level, VALUE_BYTES_MAX};

/// Longest name on either side of the word that was found, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Most spaces between a name and its value.
const SPACES_MAX: usize = 60;

/// A value without quotes of more bytes is looked at once, whatever names are in it.
const LONG: usize = 512;
/// Longest expression before the literal that is taken in its place, in bytes.
const EXPRESSION_BYTES_MAX: usize = 200;

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `=`, `:=`, `==`, `=>`, `||` and others; whether there are no spaces around it.
    Equals { tight: bool },
    /// `:`
    Colon,
    /// `(`, and `,` after a name in quotes.
    Argument,
    /// `>` of an XML element.
    Element,
    /// Nothing but spaces.
    Spaces,
    /// `${NAME:-value}`
    Default,
}

/// A name in its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'t> {
    pub(super) text: &'t str,
    pub(super) place: Place,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Dashes before it: `--password`.
    pub(super) dashes: usize,
    /// It stands in quotes.
    pub(super) quoted: bool,
}

impl<'t> Name<'t> {
    /// The name of which the word found at `hit` is a part.
    pub(super) fn around(text: &'t str, hit: Range<usize>, place: Place) -> Option<Self> {
        let bytes = text.as_bytes();
        let before = bytes[..hit.start]
            .iter()
            .rev()
            .take(NAME_BYTES_MAX)
            .take_while(|byte| is_of_name(**byte))
            .count();
        let after =
            bytes[hit.end..].iter().take(NAME_BYTES_MAX).take_while(|byte| is_of_name(**byte)).count();
        let start = text.ceil_char_boundary(hit.start - before);
        let end = text.floor_char_boundary(hit.end + after);
        let leading = bytes[start..end].iter().take_while(|byte| matches!(byte, b'-' | b'.')).count();
        let dashes = bytes[start..end].iter().take_while(|byte| **byte == b'-').count();
        let name = Self { text, place, start: start + leading, end, dashes, quoted: false };
        (name.start < name.end && !matches!(bytes[end - 1], b'-' | b'.')).then_some(name)
    }

    /// The name itself.
    pub(super) fn name(&self) -> &'t str {
        &self.text[self.start..self.end]
    }

    /// The byte before the name and its dashes.
    pub(super) fn byte_before(&self) -> Option<u8> {
        self.start.checked_sub(self.dashes + 1).map(|at| self.text.as_bytes()[at])
    }

    /// What stands before the name on its line, at most 120 bytes.
    pub(super) fn line_before(&self) -> &'t str {
        let from = self.text.ceil_char_boundary(self.start.saturating_sub(120));
        let before = &self.text[from..self.start];
        before.rsplit('\n').next().unwrap_or(before)
    }

    pub(super) fn is_upper(&self) -> bool {
        self.name().bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    }
}

/// Where the secret of a name stands. `looked` becomes the end of a long value without quotes that is none: the names in
/// it are not looked at again.
pub(super) fn secret<'t>(
    mut name: Name<'t>,
    classes: &mut Classes<'t>,
    looked: &mut usize,
) -> Option<Range<usize>> {
    let (operator, at) = operator(&mut name)?;
    let class = classes.of(name.name())?;
    let is_secret = |(range, level): (Range<usize>, Level)| {
        let range = without_scheme(name.text, range, class)?;
        values::is_secret(name.text.get(range.clone())?, class, level).then_some(range)
    };
    let found = value(&name, operator, at, class);
    if let Some((range, _)) = &found
        && range.len() > LONG
        && !matches!(name.text.as_bytes()[range.start - 1], b'"' | b'\'' | b'`')
    {
        *looked = range.end;
    }
    found.and_then(is_secret).or_else(|| {
        let at = fallback(&name, operator, at)?;
        quoted(&name, at).and_then(|range| is_secret((range, Level::Code)))
    })
}

/// Where the literal begins that is taken when an expression yields nothing: `get("x") || "…"`.
fn fallback(name: &Name<'_>, operator: Operator, at: usize) -> Option<usize> {
    const MARKS: [&str; 4] = ["|| ", "?? ", " or ", "?: "];
    if !matches!(operator, Operator::Equals { .. } | Operator::Colon | Operator::Argument) {
        return None;
    }
    let rest =
        name.text.get(at..name.text.floor_char_boundary((at + EXPRESSION_BYTES_MAX).min(name.text.len())))?;
    let line = rest.split('\n').next().unwrap_or(rest);
    let end = MARKS.iter().filter_map(|mark| line.find(mark).map(|found| found + mark.len())).min()?;
    Some(at + end)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || byte >= 0x80
}

fn spaces(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(SPACES_MAX).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// What follows the name, and where the value begins.
fn operator(name: &mut Name<'_>) -> Option<(Operator, usize)> {
    let bytes = name.text.as_bytes();
    let closed = closers(name)?;
    // Most names are used rather than set.
    if matches!(bytes.get(closed), None | Some(b')' | b';' | b'.' | b'&' | b'*' | b'%' | b'/')) {
        return None;
    }
    if bytes.get(closed) == Some(&b'(') && bytes.get(closed + 1) != Some(&b')') && !name.quoted {
        return Some((Operator::Argument, closed + 1));
    }
    if let Some(at) = of_element(name, closed) {
        return Some((Operator::Element, at));
    }
    let skipped = spaces(bytes, closed);
    let at = closed + skipped;
    let rest = &bytes[at..];
    if rest.starts_with(b":-") && name.byte_before() == Some(b'{') {
        return Some((Operator::Default, at + 2));
    }
    if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
        let more = spaces(bytes, at + mark.len());
        let tight = mark == b"=" && skipped == 0 && more == 0;
        return Some((Operator::Equals { tight }, at + mark.len() + more));
    }
    if rest.starts_with(b":") && !rest.starts_with(b"::") {
        return Some(of_colon(name, at + 1));
    }
    if rest.starts_with(b"or ") && name.quoted {
        return Some((Operator::Argument, at + 3));
    }
    if (name.quoted || matches!(name.place, Place::Yaml | Place::Prose))
        && let Some(at) = value_of_name(name, at)
    {
        return Some((Operator::Colon, at));
    }
    if rest.starts_with(b",") && name.quoted {
        return Some((Operator::Argument, at + 1 + spaces(bytes, at + 1)));
    }
    if let Some(at) = of_variable(name, at).or_else(|| of_type(name, at).filter(|_| skipped > 0)) {
        return Some((Operator::Equals { tight: false }, at));
    }
    // Only a flag, a directive and `#define` have nothing but spaces before their value.
    let has_value = name.dashes > 0
        || matches!(name.place, Place::Shell | Place::Properties)
        || matches!(bytes.get(at), Some(b'"' | b'\'' | b'`'));
    (skipped > 0 && has_value).then_some((Operator::Spaces, at))
}

/// Marks of an assignment or a comparison, longer ones first.
const MARKS: [&[u8]; 15] = [
    b"===", b"!==", b"??=", b"||=", b"==", b"!=", b"=>", b":=", b"?=", b"+=", b"?:", b"||", b"??", b"<-",
    b"=",
];

/// Where that ends which closes a name: its quote, the bracket of an index.
fn closers(name: &mut Name<'_>) -> Option<usize> {
    let bytes = name.text.as_bytes();
    let mut at = name.end;
    let is = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|byte| marks.contains(byte));
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
    // `password?: …`
    at += usize::from(is(at, b"?!") && is(at + 1, b":") && !is(at + 2, b":"));
    Some(at)
}

/// Where the value of an XML element begins: `<password>…`, `<entry key="password">…`, `<setting name="Token"><value>…`,
/// `<key>ApiKey</key><string>…`.
fn of_element(name: &Name<'_>, at: usize) -> Option<usize> {
    const OF_KEY: &[u8] = b"</key>";
    const STRING: &[u8] = b"<string>";
    const VALUE: &[u8] = b"<value>";
    let bytes = name.text.as_bytes();
    let rest = &bytes[at..];
    if rest.first() == Some(&b'>') && (name.quoted || is_element(name)) {
        let value = at + 1 + white(bytes, at + 1);
        return Some(if bytes[value..].starts_with(VALUE) { value + VALUE.len() } else { at + 1 });
    }
    let value = at + OF_KEY.len();
    let value = rest.starts_with(OF_KEY).then(|| value + white(bytes, value))?;
    bytes[value..].starts_with(STRING).then_some(value + STRING.len())
}

/// Where the value begins in `variable "db_password" { default = "…" }`.
fn of_variable(name: &Name<'_>, at: usize) -> Option<usize> {
    let bytes = name.text.as_bytes();
    if !name.quoted || bytes.get(at) != Some(&b'{') || !name.line_before().ends_with("variable \"") {
        return None;
    }
    let end = name.text.floor_char_boundary((at + 2 * EXPRESSION_BYTES_MAX).min(bytes.len()));
    let body = name.text[at..end].split('}').next()?;
    let default = body.find("default")?;
    let value = at + default + body[default..].find('=')? + 1;
    Some(value + spaces(bytes, value))
}

/// Where the value begins in `var token string = "…"`.
fn of_type(name: &Name<'_>, at: usize) -> Option<usize> {
    let bytes = name.text.as_bytes();
    if name.quoted || name.place != Place::Code || !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'*');
    let at = at + bytes[at..].iter().take(24).take_while(of_word).count();
    let at = at + spaces(bytes, at);
    let assigns = bytes.get(at) == Some(&b'=') && !matches!(bytes.get(at + 1), Some(b'=' | b'>'));
    assigns.then(|| at + 1 + spaces(bytes, at + 1))
}

fn white(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().take(SPACES_MAX).take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// `name: value`, or `name: Type = value` in code.
fn of_colon(name: &Name<'_>, at: usize) -> (Operator, usize) {
    let bytes = name.text.as_bytes();
    let at = at + spaces(bytes, at);
    if name.place == Place::Code {
        let kind = bytes[at..]
            .iter()
            .take(40)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_&<>[]?.'* |:".contains(byte))
            .count();
        let mark = at + kind;
        if kind > 0 && bytes.get(mark) == Some(&b'=') && !matches!(bytes.get(mark + 1), Some(b'=' | b'>')) {
            return (Operator::Equals { tight: false }, mark + 1 + spaces(bytes, mark + 1));
        }
    }
    (Operator::Colon, at)
}

fn is_element(name: &Name<'_>) -> bool {
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

/// Where the value begins when the name is itself the value of `name` or `key`.
fn value_of_name(name: &Name<'_>, at: usize) -> Option<usize> {
    let before = name.line_before().trim_end_matches(['"', '\'', '\\']).trim_end();
    let before = before.strip_suffix([':', '='])?.trim_end_matches(['"', '\'', '\\']);
    if !["name", "Name", "key", "Key", "NAME", "parameterkey", "ParameterKey"]
        .iter()
        .any(|word| before.ends_with(word))
    {
        return None;
    }
    let bytes = name.text.as_bytes();
    let mut at = at;
    let mut lines = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\n' if lines == 0 => lines = 1,
            b' ' | b'\t' | b'\r' | b',' | b'"' | b'\'' | b'\\' => {}
            _ => break,
        }
        at += 1;
        if at > name.end + 200 {
            return None;
        }
    }
    let rest = &bytes[at..];
    let word = [&b"value"[..], b"Value", b"parameterValue", b"ParameterValue"]
        .into_iter()
        .find(|word| rest.starts_with(word))?;
    at += word.len();
    at += bytes[at..].iter().take(2).take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\')).count();
    at += spaces(bytes, at);
    matches!(bytes.get(at), Some(b':' | b'=')).then(|| at + 1 + spaces(bytes, at + 1))
}

/// Where the value stands, and how much its place tells.
fn value(name: &Name<'_>, operator: Operator, at: usize, class: Class) -> Option<(Range<usize>, Level)> {
    let bytes = name.text.as_bytes();
    match operator {
        Operator::Element => {
            let end = at
                + bytes[at..].iter().take(VALUE_BYTES_MAX).position(|byte| matches!(byte, b'<' | b'\n'))?;
            (bytes[end] == b'<').then_some((trimmed(name.text, at..end), Level::Config))
        }
        Operator::Default => {
            let end = at
                + bytes[at..].iter().take(VALUE_BYTES_MAX).position(|byte| matches!(byte, b'}' | b'\n'))?;
            Some((trimmed(name.text, at..end), Level::Code))
        }
        _ => match quoted(name, at) {
            Some(range) => Some((range, of_quoted(name, operator))),
            None if operator == Operator::Argument => None,
            None => unquoted::value(name, operator, at, class),
        },
    }
}

/// How much the place of a value in quotes tells.
fn of_quoted(name: &Name<'_>, operator: Operator) -> Level {
    let flag = name.dashes > 0 && matches!(operator, Operator::Equals { .. } | Operator::Spaces);
    match name.place {
        Place::Env | Place::Properties if operator != Operator::Argument => Level::Loose,
        Place::Yaml | Place::Data | Place::Markup | Place::Shell => Level::Config,
        Place::Prose if flag || (name.is_upper() && matches!(operator, Operator::Equals { tight: true })) => {
            Level::Config
        }
        _ => Level::Code,
    }
}

/// The inside of the quotes that begin at `at`, after what may stand before a literal: `b"…"`, `Some("…")`, `\"…\"`.
fn quoted(name: &Name<'_>, at: usize) -> Option<Range<usize>> {
    let bytes = name.text.as_bytes();
    let mut at = at;
    for _ in 0..2 {
        let word = bytes[at..]
            .iter()
            .take(30)
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b' ' | b'!')
            })
            .count();
        match bytes.get(at + word) {
            Some(b'(') if name.place != Place::Properties => at += word + 1,
            _ => break,
        }
    }
    at += spaces(bytes, at);
    const OF_POWERSHELL: &[u8] = b"ConvertTo-SecureString ";
    if bytes[at..].starts_with(OF_POWERSHELL) {
        at += OF_POWERSHELL.len();
    }
    let prefix = bytes[at..]
        .iter()
        .take(2)
        .take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'@' | b'$' | b'&'))
        .count();
    at += prefix;
    let escaped = bytes.get(at) == Some(&b'\\');
    at += usize::from(escaped);
    let quote = *bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    at += 1;
    if bytes[at..].starts_with(&[quote, quote]) {
        at += 2;
    }
    let mut end = at;
    loop {
        match bytes.get(end) {
            Some(&byte) if byte == quote => break,
            Some(b'\n') | None => return None,
            Some(b'\\') if escaped || bytes.get(end + 1) == Some(&b'\n') => break,
            Some(b'\\') => end += 2,
            Some(_) => end += 1,
        }
        if end - at > VALUE_BYTES_MAX {
            return None;
        }
    }
    Some(trimmed(name.text, at..end))
}

/// Without spaces around it.
fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(value) = text.get(range.clone()) else { return range };
    let start = range.start + (value.len() - value.trim_start().len());
    start..start + value.trim().len()
}

/// The value of a header without its scheme: `Bearer …`.
pub(super) fn without_scheme(text: &str, range: Range<usize>, class: Class) -> Option<Range<usize>> {
    if class == Class::Password {
        return Some(range);
    }
    let value = text.get(range.clone())?;
    let Some((scheme, rest)) = value.split_once([' ', '=']) else { return Some(range) };
    let of_header = [
        "bearer",
        "basic",
        "token",
        "bot",
        "apikey",
        "api-key",
        "api-token",
        "key",
        "ssws",
        "oauth",
        "splunk",
        "genie",
    ]
    .contains(&scheme.to_ascii_lowercase().as_str());
    if !of_header {
        return Some(range);
    }
    let inner = rest.trim_start().trim_start_matches("token=").trim_start_matches(['"', '\\']);
    let start = range.end - inner.len();
    let length = inner.find([' ', '"', ',', '\\']).unwrap_or(inner.len());
    Some(start..start + length)
}
