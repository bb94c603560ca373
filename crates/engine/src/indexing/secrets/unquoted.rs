//! Finds unquoted values: where they are allowed, and where they end.

use std::ops::Range;

use super::assigned::{NameInText, Operator};
use super::file_format::FileFormat;
use super::names::SecretClass;
use super::values::{VALUE_BYTES_MAX, ValueContext};

/// Maximum distance between a name and the other parts of its connection string, in bytes.
const CONNECTION_STRING_BYTES_MAX: usize = 300;

/// What ends an unquoted value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueEnd {
    /// A space, a quote or a shell command separator.
    Word,
    /// The end of the line, or a comment.
    Line,
    /// Also `;`: connection strings.
    Semicolon,
    /// Also `&` and `#`: query strings of URLs.
    Query,
    /// A quote or the end of the line: headers.
    Quote,
}

/// The range and context of the value; `None` if an unquoted value is not allowed there.
pub(super) fn value(
    name: &NameInText<'_>,
    operator: Operator,
    at: usize,
    class: SecretClass,
) -> Option<(Range<usize>, ValueContext)> {
    let (value_end, context) = match operator {
        Operator::Equals { tight } => after_equals(name, tight)?,
        Operator::Colon => after_colon(name, class)?,
        Operator::Spaces => after_spaces(name)?,
        Operator::Argument | Operator::Element | Operator::Default => return None,
    };
    Some((value_range(name.text, at, value_end)?, context))
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
        FileFormat::Shell if tight || before.trim().is_empty() => {
            Some((ValueEnd::Word, ValueContext::Config))
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
        FileFormat::Yaml if !name.quoted || begins_line(before.trim_end_matches(['"', '\''])) => {
            Some((if is_header { ValueEnd::Quote } else { ValueEnd::Line }, ValueContext::Config))
        }
        FileFormat::Properties => Some((ValueEnd::Line, ValueContext::Config)),
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

fn after_spaces(name: &NameInText<'_>) -> Option<(ValueEnd, ValueContext)> {
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
    match name.format {
        FileFormat::Shell if matches!(before.trim(), "ENV" | "ARG" | "setenv") => {
            Some((ValueEnd::Line, ValueContext::Config))
        }
        // `requirepass …` of Redis, `rootpw …` of OpenLDAP.
        FileFormat::Properties if before.trim().is_empty() => Some((ValueEnd::Word, ValueContext::Config)),
        _ => None,
    }
}

/// Whether the name begins its line, apart from keywords such as `export` and comment markers.
fn begins_line(before: &str) -> bool {
    let before = before.trim();
    before.is_empty()
        || [
            "export",
            "ENV",
            "ARG",
            "set",
            "setx",
            "setenv",
            "-",
            "#",
            "//",
            "$",
            "*",
            ">",
            "env",
            "-e",
            "--env",
            "--build-arg",
            "declare -x",
            "declare",
            "local",
            "readonly",
            "$env:",
            ";",
            "&&",
            "`",
            "%",
            "run:",
            "Environment=",
        ]
        .contains(&before)
}

/// Whether only a comment marker precedes the name.
fn is_comment(before: &str) -> bool {
    ["#", "//", "///", "*", "--", ";", "/*", "%", "<!--"].contains(&before.trim())
}

/// Whether the name belongs to a connection string: `Server=db;User Id=app;Password=…`.
fn is_connection_string(name: &NameInText<'_>) -> bool {
    const OTHER_PARTS: [&str; 16] = [
        "server=",
        "data source=",
        "datasource=",
        "user id=",
        "uid=",
        "host=",
        "hostname=",
        "database=",
        "initial catalog=",
        "user=",
        "username=",
        "addr=",
        "endpoint=",
        "accountname=",
        "servername=",
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

/// Whether the name belongs to a libpq connection string: `host=db user=app password=… dbname=app`.
fn is_libpq_string(name: &NameInText<'_>, before: &str) -> bool {
    let end = name.text.floor_char_boundary((name.end + CONNECTION_STRING_BYTES_MAX).min(name.text.len()));
    let after = name.text[name.end..end].split('\n').next().unwrap_or_default();
    let has = |word: &str| before.contains(word) || after.contains(word);
    has("host=") && (has("user=") || has("dbname="))
}

/// The range of the value that begins at `at`.
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
