//! Unquoted values: which contexts allow them, and where they end.

use std::ops::Range;

use super::assigned::{NameInText, Operator};
use super::file_format::FileFormat;
use super::names::Class;
use super::values::{Level, VALUE_BYTES_MAX};

/// Distance around a name within which the other parts of a connection string are searched, in bytes.
const AROUND: usize = 300;

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

/// The range of the value, and how likely its context makes a secret; `None` if no literal follows the name.
pub(super) fn value(
    name: &NameInText<'_>,
    operator: Operator,
    at: usize,
    class: Class,
) -> Option<(Range<usize>, Level)> {
    let (until, level) = match operator {
        Operator::Equals { tight } => after_equals(name, tight)?,
        Operator::Colon => after_colon(name, class)?,
        Operator::Spaces => after_spaces(name)?,
        Operator::Argument | Operator::Element | Operator::Default => return None,
    };
    Some((value_range(name.text, at, until)?, level))
}

fn after_equals(name: &NameInText<'_>, tight: bool) -> Option<(ValueEnd, Level)> {
    let before = name.line_before();
    if is_connection_string(name) {
        return Some((ValueEnd::Semicolon, Level::Config));
    }
    if tight && before.ends_with([' ', '"', '\'']) && is_libpq_string(name, before) {
        return Some((ValueEnd::Word, Level::Config));
    }
    if tight && before.ends_with(['?', '&']) || before.ends_with("&amp;") {
        return Some((ValueEnd::Query, Level::Code));
    }
    if tight && name.dashes > 0 {
        let level = if name.format == FileFormat::Code { Level::Code } else { Level::Config };
        return Some((ValueEnd::Word, level));
    }
    match name.format {
        FileFormat::Env => Some((ValueEnd::Line, Level::Loose)),
        FileFormat::Properties => Some((ValueEnd::Line, Level::Loose)),
        FileFormat::Shell if tight || before.trim().is_empty() => Some((ValueEnd::Word, Level::Config)),
        // `- DB_PASSWORD=…` in a Compose file, `run: TOKEN=… make`.
        FileFormat::Yaml if tight => Some((ValueEnd::Word, Level::Config)),
        FileFormat::Data | FileFormat::Markup if tight && name.is_upper() => {
            Some((ValueEnd::Word, Level::Code))
        }
        FileFormat::Prose if tight && (name.is_upper() || begins_line(before)) => {
            Some((ValueEnd::Word, Level::Config))
        }
        FileFormat::Prose if tight => Some((ValueEnd::Word, Level::Code)),
        FileFormat::Prose if begins_line(before) => Some((ValueEnd::Line, Level::Code)),
        FileFormat::Code if is_comment(before) => Some((ValueEnd::Line, Level::Code)),
        _ => None,
    }
}

fn after_colon(name: &NameInText<'_>, class: Class) -> Option<(ValueEnd, Level)> {
    let before = name.line_before();
    let header = class == Class::Header || (name.name().contains('-') && !name.quoted);
    match name.format {
        FileFormat::Yaml if !name.quoted || begins_line(before.trim_end_matches(['"', '\''])) => {
            Some((if header { ValueEnd::Quote } else { ValueEnd::Line }, Level::Config))
        }
        FileFormat::Properties => Some((ValueEnd::Line, Level::Config)),
        // In code: a header inside a quoted string.
        _ if header => Some((ValueEnd::Quote, Level::Code)),
        FileFormat::Prose | FileFormat::Env if begins_line(before) => Some((ValueEnd::Line, Level::Code)),
        FileFormat::Prose if !before.contains(['(', '{']) => Some((ValueEnd::Word, Level::Code)),
        FileFormat::Code if is_comment(before) => Some((ValueEnd::Line, Level::Code)),
        _ => None,
    }
}

fn after_spaces(name: &NameInText<'_>) -> Option<(ValueEnd, Level)> {
    let before = name.line_before();
    let flag = name.dashes == 2 || (name.dashes == 1 && name.name().len() > 3);
    if flag {
        let level = if matches!(name.format, FileFormat::Code | FileFormat::Prose) {
            Level::Code
        } else {
            Level::Config
        };
        return Some((ValueEnd::Word, level));
    }
    match name.format {
        FileFormat::Shell if matches!(before.trim(), "ENV" | "ARG" | "setenv") => {
            Some((ValueEnd::Line, Level::Config))
        }
        // `requirepass …` of Redis, `rootpw …` of OpenLDAP.
        FileFormat::Properties if before.trim().is_empty() => Some((ValueEnd::Word, Level::Config)),
        _ => None,
    }
}

/// Whether the name begins its line, apart from markers of settings and comments.
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
    const OTHERS: [&str; 16] = [
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
    let start = text.ceil_char_boundary(name.start.saturating_sub(AROUND));
    let end = text.floor_char_boundary((name.end + AROUND).min(text.len()));
    let before = text[start..name.start].rsplit('\n').next().unwrap_or_default();
    let after = text[name.end..end].split('\n').next().unwrap_or_default();
    let first = before.trim_end_matches(' ');
    if !(first.ends_with([';', '"', '\'', '>']) || first.ends_with("connectionString="))
        || !(before.contains(';') || after.contains(';'))
    {
        return false;
    }
    let (before, after) = (before.to_ascii_lowercase(), after.to_ascii_lowercase());
    OTHERS.iter().any(|other| before.contains(other) || after.contains(other))
}

/// Whether the name belongs to a libpq connection string: `host=db user=app password=… dbname=app`.
fn is_libpq_string(name: &NameInText<'_>, before: &str) -> bool {
    let end = name.text.floor_char_boundary((name.end + AROUND).min(name.text.len()));
    let after = name.text[name.end..end].split('\n').next().unwrap_or_default();
    let has = |word: &str| before.contains(word) || after.contains(word);
    has("host=") && (has("user=") || has("dbname="))
}

/// The range of the value that begins at `at`.
fn value_range(text: &str, at: usize, until: ValueEnd) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let stops = |byte: u8| match until {
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
    let length = bytes[at..].iter().take(VALUE_BYTES_MAX + 1).take_while(|byte| !stops(**byte)).count();
    let value = text.get(at..at + length)?;
    let mut value = value.trim();
    let start = at + text[at..at + length].len() - text[at..at + length].trim_start().len();
    if until == ValueEnd::Line {
        value = value.find(" #").or_else(|| value.find("\t#")).map_or(value, |end| value[..end].trim_end());
        value = value.strip_suffix([',', ';']).unwrap_or(value).trim_end();
        value = value.strip_suffix(" \\").unwrap_or(value).trim_end();
    }
    Some(start..start + value.len())
}
