//! Finds unquoted values: the places where they are allowed, and their ends.

use std::ops::Range;

use super::file_format::FileFormat;
use super::name_in_text::{NameInText, Operator, space_count};
use super::names::SecretClass;
use super::values::{VALUE_BYTES_MAX, ValueContext};

/// Maximum distance between a name and the other parts of its connection string, in bytes.
const CONNECTION_STRING_BYTES_MAX: usize = 300;

/// The end of an unquoted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueEnd {
    /// A space, a quote, a closing bracket, a comma or a shell operator.
    Word,
    /// The end of the line, or a comment.
    Line,
    /// `;`, `<`, a quote or the end of the line: connection strings.
    Semicolon,
    /// `&`, `#`, `;`, a space, a quote, a bracket or a backslash: query strings of URLs.
    Query,
    /// A quote, a backslash or the end of the line: headers.
    Quote,
    /// `,`, `}`, `]` or the end of the line: flow mappings of YAML.
    Flow,
}

/// Returns the range and context of the value; `None` if an unquoted value is not allowed there.
pub(super) fn value(
    name: &NameInText<'_>,
    operator: Operator,
    at: usize,
    class: SecretClass,
) -> Option<(Range<usize>, ValueContext)> {
    let (value_end, context) = match operator {
        Operator::Equals { tight } => after_equals(name, tight)?,
        Operator::Colon => after_colon(name, class)?,
        Operator::Spaces => after_spaces(name, at)?,
        _ => return None,
    };
    let block = || if operator == Operator::Colon { block_line(name, at) } else { None };
    Some((block().or_else(|| value_range(name.text, at, value_end))?, context))
}

fn after_equals(name: &NameInText<'_>, tight: bool) -> Option<(ValueEnd, ValueContext)> {
    let before = name.line_before();
    if is_connection_string(name) {
        return Some((ValueEnd::Semicolon, ValueContext::Config));
    }
    if tight && before.ends_with([' ', '"', '\'']) && is_libpq_string(name, before) {
        return Some((ValueEnd::Word, ValueContext::Config));
    }
    if tight && before.ends_with(['?', '&']) || before.ends_with("&amp;") {
        return Some((ValueEnd::Query, ValueContext::Code));
    }
    if tight && name.dashes > 0 {
        let context = if name.format == FileFormat::Code { ValueContext::Code } else { ValueContext::Config };
        return Some((ValueEnd::Word, context));
    }
    match name.format {
        FileFormat::Env => Some((ValueEnd::Line, ValueContext::EnvFile)),
        FileFormat::Properties => Some((ValueEnd::Line, ValueContext::EnvFile)),
        FileFormat::Shell | FileFormat::Make if tight || before.trim() == "set" => {
            Some((ValueEnd::Word, ValueContext::Config))
        }
        // A makefile, or a file that the script writes.
        FileFormat::Shell | FileFormat::Make if before.trim().is_empty() => {
            Some((ValueEnd::Line, ValueContext::Config))
        }
        // `- DB_PASSWORD=…` in a Compose file, `run: TOKEN=… make`.
        FileFormat::Yaml if tight => Some((ValueEnd::Word, ValueContext::Config)),
        FileFormat::Data | FileFormat::Markup if tight && name.is_upper() => {
            Some((ValueEnd::Word, ValueContext::Code))
        }
        FileFormat::Prose if tight && (name.is_upper() || begins_line(before)) => {
            Some((ValueEnd::Word, ValueContext::Config))
        }
        FileFormat::Prose if tight => Some((ValueEnd::Word, ValueContext::Code)),
        FileFormat::Prose if begins_line(before) => Some((ValueEnd::Line, ValueContext::Code)),
        FileFormat::Code if is_comment(before) => Some((ValueEnd::Line, ValueContext::Code)),
        _ => None,
    }
}

fn after_colon(name: &NameInText<'_>, class: SecretClass) -> Option<(ValueEnd, ValueContext)> {
    let before = name.line_before();
    let is_header = class == SecretClass::Header || (name.name().contains('-') && !name.quoted);
    match name.format {
        FileFormat::Yaml if is_in_flow_mapping(before) => Some((ValueEnd::Flow, ValueContext::Config)),
        FileFormat::Yaml if !name.quoted || begins_line(before.trim_end_matches(['"', '\''])) => {
            Some((if is_header { ValueEnd::Quote } else { ValueEnd::Line }, ValueContext::Config))
        }
        FileFormat::Properties => Some((ValueEnd::Line, ValueContext::Config)),
        // A file that the script writes; a comment.
        FileFormat::Shell if !name.quoted && begins_line(before) => {
            let context = if is_comment(before) { ValueContext::Code } else { ValueContext::Config };
            Some((ValueEnd::Line, context))
        }
        // In code: a header inside a quoted string.
        _ if is_header => Some((ValueEnd::Quote, ValueContext::Code)),
        FileFormat::Prose | FileFormat::Env if begins_line(before) => {
            Some((ValueEnd::Line, ValueContext::Code))
        }
        FileFormat::Prose if !before.contains(['(', '{']) => Some((ValueEnd::Word, ValueContext::Code)),
        FileFormat::Code if is_comment(before) => Some((ValueEnd::Line, ValueContext::Code)),
        _ => None,
    }
}

fn after_spaces(name: &NameInText<'_>, at: usize) -> Option<(ValueEnd, ValueContext)> {
    let before = name.line_before();
    let is_flag = name.dashes == 2 || (name.dashes == 1 && name.name().len() > 3);
    if is_flag {
        let context = if matches!(name.format, FileFormat::Code | FileFormat::Prose) {
            ValueContext::Code
        } else {
            ValueContext::Config
        };
        return Some((ValueEnd::Word, context));
    }
    if follows_setter(name) {
        let context = if name.format == FileFormat::Prose && !name.is_upper() {
            ValueContext::Code
        } else {
            ValueContext::Config
        };
        // `set -x TOKEN (command)`
        return (name.text.as_bytes().get(at) != Some(&b'(')).then_some((ValueEnd::Word, context));
    }
    match name.format {
        FileFormat::Shell if matches!(before.trim(), "ENV" | "ARG") => {
            Some((ValueEnd::Line, ValueContext::Config))
        }
        // `requirepass …` of Redis, `rootpw …` of OpenLDAP.
        FileFormat::Properties if before.trim().is_empty() => Some((ValueEnd::Word, ValueContext::Config)),
        _ => None,
    }
}

/// Returns whether the name is the variable of a command that sets it: `setenv NAME value`, `set -gx NAME value` of fish, `SetEnv` of
/// Apache.
pub(super) fn follows_setter(name: &NameInText<'_>) -> bool {
    const BEFORE_COMMAND: [&str; 9] = ["then", "do", "else", "begin", "and", "or", "sudo", "RUN", "run:"];
    let is_command_file = name.format.is_shell();
    if name.quoted
        || !(is_command_file
            || matches!(
                name.format,
                FileFormat::Prose | FileFormat::Yaml | FileFormat::Properties | FileFormat::Env
            ))
    {
        return false;
    }
    let mut words = name.line_before().split_whitespace().rev().peekable();
    let mut has_flag = false;
    while words.next_if(|word| word.len() > 1 && word.starts_with('-') && *word != "--").is_some() {
        has_flag = true;
    }
    let Some(command) = words.next() else { return false };
    let is_setter = match command.to_ascii_lowercase().as_str() {
        "set" => has_flag || is_command_file,
        "setenv" | "setx" => !has_flag,
        _ => false,
    };
    is_setter
        && words.next().is_none_or(|word| {
            word.ends_with([';', '|', '&', '{', '(', ')', '$', '%', '>', '#', '-', '`'])
                || BEFORE_COMMAND.contains(&word)
        })
}

/// Returns the start of a YAML value after its anchor and its standard tag: `&name`, `!!str`.
pub(super) fn after_node_properties(name: &NameInText<'_>, at: usize) -> usize {
    const PROPERTIES_MAX: usize = 2;
    const PROPERTY_BYTES_MAX: usize = 60;
    if !matches!(name.format, FileFormat::Yaml | FileFormat::Prose | FileFormat::Shell) {
        return at;
    }
    let bytes = name.text.as_bytes();
    let mut at = at;
    for _ in 0..PROPERTIES_MAX {
        let rest = &bytes[at..];
        // Other tags belong to a program: `!secret db_password` is a reference.
        if !(rest.starts_with(b"&") || [&b"!!"[..], b"!<", b"! "].iter().any(|tag| rest.starts_with(tag))) {
            break;
        }
        let length =
            rest.iter().take(PROPERTY_BYTES_MAX).take_while(|byte| !byte.is_ascii_whitespace()).count();
        let spaces = space_count(bytes, at + length);
        if spaces == 0 {
            break;
        }
        at += length + spaces;
    }
    at
}

/// Returns the content of a block scalar of one line: `password: |-`, and the value on the next line.
fn block_line(name: &NameInText<'_>, at: usize) -> Option<Range<usize>> {
    let text = name.text;
    if !matches!(name.format, FileFormat::Yaml | FileFormat::Shell)
        || !matches!(text.as_bytes().get(at), Some(b'|' | b'>'))
    {
        return None;
    }
    let window = text.get(at..text.floor_char_boundary((at + VALUE_BYTES_MAX).min(text.len())))?;
    let (header, lines) = window.split_once('\n')?;
    let is_header = header[1..].trim_end().bytes().all(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9'));
    let mut lines = lines.split('\n');
    let line = lines.next()?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let next = lines.find(|line| !line.trim().is_empty());
    let is_alone = indent(line) > 0 && next.is_none_or(|next| indent(next) < indent(line));
    let start = at + header.len() + 1 + indent(line);
    (is_header && is_alone).then(|| start..start + line.trim().len())
}

/// Returns whether the name begins its line, apart from keywords such as `export` and comment markers.
fn begins_line(before: &str) -> bool {
    let before = before.trim();
    before.is_empty()
        || [
            "export", "ENV", "ARG", "set", "setx", "setenv", "-", "#", "//", "$", "*", ">", "env", "-e",
            "--env", "--build-arg", "declare -x", "declare", "local", "readonly", "$env:", ";", "&&", "`",
            "%", "run:", "Environment=",
        ]
        .contains(&before)
}

/// Returns whether the name is in a mapping in braces, which is not a template.
fn is_in_flow_mapping(before: &str) -> bool {
    before.rfind('{').is_some_and(|brace| {
        let is_template =
            before[..brace].ends_with(['{', '$', '#', '%']) || before[brace + 1..].starts_with('%');
        !is_template && !before[brace..].contains('}')
    })
}

/// Returns whether only a comment marker precedes the name.
fn is_comment(before: &str) -> bool {
    ["#", "//", "///", "*", "--", ";", "/*", "%", "<!--"].contains(&before.trim())
}

/// Returns whether the name belongs to a connection string: `Server=db;User Id=app;Password=…`.
fn is_connection_string(name: &NameInText<'_>) -> bool {
    const OTHER_PARTS: [&str; 16] = [
        "server=", "data source=", "datasource=", "user id=", "uid=", "host=", "hostname=", "database=",
        "initial catalog=", "user=", "username=", "addr=", "endpoint=", "accountname=", "servername=",
        "account=",
    ];
    let text = name.text;
    let start = text.ceil_char_boundary(name.start.saturating_sub(CONNECTION_STRING_BYTES_MAX));
    let end = text.floor_char_boundary((name.end + CONNECTION_STRING_BYTES_MAX).min(text.len()));
    let before = text[start..name.start].rsplit('\n').next().unwrap_or_default();
    let after = text[name.end..end].split('\n').next().unwrap_or_default();
    let first = before.trim_end_matches(' ');
    if !(first.ends_with([';', '"', '\'', '>']) || first.ends_with("connectionString="))
        || !(before.contains(';') || after.contains(';'))
    {
        return false;
    }
    let (before, after) = (before.to_ascii_lowercase(), after.to_ascii_lowercase());
    OTHER_PARTS.iter().any(|part| before.contains(part) || after.contains(part))
}

/// Returns whether the name belongs to a libpq connection string: `host=db user=app password=… dbname=app`.
fn is_libpq_string(name: &NameInText<'_>, before: &str) -> bool {
    let end = name.text.floor_char_boundary((name.end + CONNECTION_STRING_BYTES_MAX).min(name.text.len()));
    let after = name.text[name.end..end].split('\n').next().unwrap_or_default();
    let has = |word: &str| before.contains(word) || after.contains(word);
    has("host=") && (has("user=") || has("dbname="))
}

/// Returns the range of the value that begins at `at`.
fn value_range(text: &str, at: usize, value_end: ValueEnd) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |byte: u8| match value_end {
        ValueEnd::Word => {
            byte.is_ascii_whitespace()
                || matches!(byte, b'"' | b'\'' | b'`' | b';' | b'|' | b'<' | b'>' | b')' | b',')
        }
        ValueEnd::Line => matches!(byte, b'\n' | b'\r'),
        ValueEnd::Semicolon => matches!(byte, b';' | b'"' | b'\'' | b'<' | b'\n' | b'\r' | b'`'),
        ValueEnd::Query => {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b'&' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b')' | b';' | b'\\' | b']'
                )
        }
        ValueEnd::Quote => matches!(byte, b'"' | b'\'' | b'`' | b'\n' | b'\r' | b'\\'),
        ValueEnd::Flow => matches!(byte, b',' | b'}' | b']' | b'\n' | b'\r'),
    };
    let length = bytes[at..].iter().take(VALUE_BYTES_MAX + 1).take_while(|byte| !is_end(**byte)).count();
    let value = text.get(at..at + length)?;
    let mut value = value.trim();
    let start = at + text[at..at + length].len() - text[at..at + length].trim_start().len();
    if value_end == ValueEnd::Line {
        value = value.find(" #").or_else(|| value.find("\t#")).map_or(value, |end| value[..end].trim_end());
        value = value.strip_suffix([',', ';']).unwrap_or(value).trim_end();
        value = value.strip_suffix(" \\").unwrap_or(value).trim_end();
    }
    Some(start..start + value.len())
}
