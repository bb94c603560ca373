//! Values without quotes: which places have them, and where they end.

use std::ops::Range;

use super::assigned::{Name, Operator};
use super::names::Class;
use super::places::Place;
use super::values::{Level, VALUE_BYTES_MAX};

/// How far around a name the other parts of a connection string are looked for, in bytes.
const AROUND: usize = 300;

/// Where the value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// At a space, a quote or what ends a command.
    Word,
    /// At the end of the line, or at a comment.
    Line,
    /// At `;` as well: connection strings.
    Semicolon,
    /// At `&`, `#` as well: queries of URLs.
    Query,
    /// At a quote or the end of the line: headers.
    Quote,
}

/// Where the value stands, and how much its place tells; none where what follows the name is no literal.
pub(super) fn value(
    name: &Name<'_>,
    operator: Operator,
    at: usize,
    class: Class,
) -> Option<(Range<usize>, Level)> {
    let (until, level) = match operator {
        Operator::Equals { tight } => of_equals(name, tight)?,
        Operator::Colon => of_colon(name, class)?,
        Operator::Spaces => of_spaces(name)?,
        Operator::Argument | Operator::Element | Operator::Default => return None,
    };
    Some((ends(name.text, at, until)?, level))
}

fn of_equals(name: &Name<'_>, tight: bool) -> Option<(Until, Level)> {
    let before = name.line_before();
    if is_connection_string(name) {
        return Some((Until::Semicolon, Level::Config));
    }
    if tight && before.ends_with([' ', '"', '\'']) && is_of_libpq(name, before) {
        return Some((Until::Word, Level::Config));
    }
    if tight && before.ends_with(['?', '&']) || before.ends_with("&amp;") {
        return Some((Until::Query, Level::Code));
    }
    if tight && name.dashes > 0 {
        let level = if name.place == Place::Code { Level::Code } else { Level::Config };
        return Some((Until::Word, level));
    }
    match name.place {
        Place::Env => Some((Until::Line, Level::Loose)),
        Place::Properties => Some((Until::Line, Level::Loose)),
        Place::Shell if tight || before.trim().is_empty() => Some((Until::Word, Level::Config)),
        // `- DB_PASSWORD=…` of a composition, `run: TOKEN=… make`.
        Place::Yaml if tight => Some((Until::Word, Level::Config)),
        Place::Data | Place::Markup if tight && name.is_upper() => Some((Until::Word, Level::Code)),
        Place::Prose if tight && (name.is_upper() || begins_line(before)) => {
            Some((Until::Word, Level::Config))
        }
        Place::Prose if tight => Some((Until::Word, Level::Code)),
        Place::Prose if begins_line(before) => Some((Until::Line, Level::Code)),
        Place::Code if is_comment(before) => Some((Until::Line, Level::Code)),
        _ => None,
    }
}

fn of_colon(name: &Name<'_>, class: Class) -> Option<(Until, Level)> {
    let before = name.line_before();
    let header = class == Class::Header || (name.name().contains('-') && !name.quoted);
    match name.place {
        Place::Yaml if !name.quoted || begins_line(before.trim_end_matches(['"', '\''])) => {
            Some((if header { Until::Quote } else { Until::Line }, Level::Config))
        }
        Place::Properties => Some((Until::Line, Level::Config)),
        // In code, a header within quotes.
        _ if header => Some((Until::Quote, Level::Code)),
        Place::Prose | Place::Env if begins_line(before) => Some((Until::Line, Level::Code)),
        Place::Prose if !before.contains(['(', '{']) => Some((Until::Word, Level::Code)),
        Place::Code if is_comment(before) => Some((Until::Line, Level::Code)),
        _ => None,
    }
}

fn of_spaces(name: &Name<'_>) -> Option<(Until, Level)> {
    let before = name.line_before();
    let flag = name.dashes == 2 || (name.dashes == 1 && name.name().len() > 3);
    if flag {
        let level =
            if matches!(name.place, Place::Code | Place::Prose) { Level::Code } else { Level::Config };
        return Some((Until::Word, level));
    }
    match name.place {
        Place::Shell if matches!(before.trim(), "ENV" | "ARG" | "setenv") => {
            Some((Until::Line, Level::Config))
        }
        // `requirepass …` of Redis, `rootpw …` of OpenLDAP.
        Place::Properties if before.trim().is_empty() => Some((Until::Word, Level::Config)),
        _ => None,
    }
}

/// Whether the name is the first of its line, but for what marks a setting or a comment.
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

/// Whether nothing but the mark of a comment stands before the name.
fn is_comment(before: &str) -> bool {
    ["#", "//", "///", "*", "--", ";", "/*", "%", "<!--"].contains(&before.trim())
}

/// Whether the name is a part of `Server=db;User Id=app;Password=…`.
fn is_connection_string(name: &Name<'_>) -> bool {
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

/// Whether the name is a part of `host=db user=app password=… dbname=app`.
fn is_of_libpq(name: &Name<'_>, before: &str) -> bool {
    let end = name.text.floor_char_boundary((name.end + AROUND).min(name.text.len()));
    let after = name.text[name.end..end].split('\n').next().unwrap_or_default();
    let has = |word: &str| before.contains(word) || after.contains(word);
    has("host=") && (has("user=") || has("dbname="))
}

/// The value that begins at `at`.
fn ends(text: &str, at: usize, until: Until) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let stops = |byte: u8| match until {
        Until::Word => {
            byte.is_ascii_whitespace()
                || matches!(byte, b'"' | b'\'' | b'`' | b';' | b'|' | b'<' | b'>' | b')' | b',')
        }
        Until::Line => matches!(byte, b'\n' | b'\r'),
        Until::Semicolon => matches!(byte, b';' | b'"' | b'\'' | b'<' | b'\n' | b'\r' | b'`'),
        Until::Query => {
            byte.is_ascii_whitespace()
                || matches!(
                    byte,
                    b'&' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b')' | b';' | b'\\' | b']'
                )
        }
        Until::Quote => matches!(byte, b'"' | b'\'' | b'`' | b'\n' | b'\r' | b'\\'),
    };
    let length = bytes[at..].iter().take(VALUE_BYTES_MAX + 1).take_while(|byte| !stops(**byte)).count();
    let value = text.get(at..at + length)?;
    let mut value = value.trim();
    let start = at + text[at..at + length].len() - text[at..at + length].trim_start().len();
    if until == Until::Line {
        value = value.find(" #").or_else(|| value.find("\t#")).map_or(value, |end| value[..end].trim_end());
        value = value.strip_suffix([',', ';']).unwrap_or(value).trim_end();
        value = value.strip_suffix(" \\").unwrap_or(value).trim_end();
    }
    Some(start..start + value.len())
}
