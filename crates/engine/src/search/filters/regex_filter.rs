//! Translates a user's regular expression to one with the same meaning in Postgres. The parser is that of the
//! linear-time `regex` crate, so back-references and look-around are refused; the result is printed from the parsed
//! form.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};
use regex_syntax::{ParserBuilder, parse};

use crate::search::filters::pattern::escaped;

/// Maximum length of a translated expression in bytes; a longer one is refused as too complex.
const BYTES_MAX: usize = 8 * 1024;
/// Maximum depth of nested groups.
const NEST_MAX: u32 = 50;
/// The largest repetition count that Postgres accepts.
const REPEAT_MAX: u32 = 255;

/// Returns the expression for Postgres; the error is the reason why `regex` is refused.
pub(in crate::search) fn translated(regex: &str, ignore_case: bool) -> Result<String, String> {
    let mut parser = ParserBuilder::new().case_insensitive(ignore_case).nest_limit(NEST_MAX).build();
    let hir = parser.parse(regex).map_err(|error| {
        // The last line of the parser's report is the reason; the lines before show the position.
        let report = error.to_string();
        report.lines().next_back().unwrap_or("malformed").trim_start_matches("error: ").to_owned()
    })?;
    let mut out = String::new();
    write(&hir, &mut out)?;
    if out.len() > BYTES_MAX { Err(too_complex()) } else { Ok(out) }
}

fn too_complex() -> String {
    "too complex".to_owned()
}

fn write(hir: &Hir, out: &mut String) -> Result<(), String> {
    if out.len() > BYTES_MAX {
        return Err(too_complex());
    }
    match hir.kind() {
        HirKind::Empty => out.push_str("(?:)"),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| "not text".to_owned())?;
            out.push_str(&escaped(text));
        }
        HirKind::Class(Class::Unicode(class)) => write_class(class, out)?,
        HirKind::Class(Class::Bytes(_)) => return Err("not text".to_owned()),
        HirKind::Look(look) => out.push_str(match look {
            Look::Start | Look::StartLF | Look::StartCRLF => "^",
            Look::End | Look::EndLF | Look::EndCRLF => "$",
            Look::WordAscii | Look::WordUnicode => "\\y",
            Look::WordAsciiNegate | Look::WordUnicodeNegate => "\\Y",
            Look::WordStartAscii | Look::WordStartUnicode => "\\m",
            Look::WordEndAscii | Look::WordEndUnicode => "\\M",
            _ => return Err("half boundaries of words are not supported".to_owned()),
        }),
        HirKind::Repetition(repetition) => {
            let max = repetition.max.map_or(String::new(), |max| max.to_string());
            if repetition.min > REPEAT_MAX || repetition.max.is_some_and(|max| max > REPEAT_MAX) {
                return Err(format!("more than {REPEAT_MAX} repetitions"));
            }
            out.push_str("(?:");
            write(&repetition.sub, out)?;
            out.push(')');
            // Whether a path matches does not depend on greed.
            match (repetition.min, repetition.max) {
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (0, Some(1)) => out.push('?'),
                (min, _) => out.push_str(&format!("{{{min},{max}}}")),
            }
        }
        HirKind::Capture(capture) => group(std::slice::from_ref(&*capture.sub), "", out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, out))?,
        HirKind::Alternation(parts) => group(parts, "|", out)?,
    }
    Ok(())
}

fn group(parts: &[Hir], with: &str, out: &mut String) -> Result<(), String> {
    out.push_str("(?:");
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(with);
        }
        write(part, out)?;
    }
    out.push(')');
    Ok(())
}

fn write_class(class: &ClassUnicode, out: &mut String) -> Result<(), String> {
    // The large classes have names in both languages.
    for named in ["\\w", "\\d", "\\s", "\\W", "\\D", "\\S"] {
        let same = |hir: Hir| matches!(hir.kind(), HirKind::Class(Class::Unicode(known)) if known == class);
        if parse(named).is_ok_and(same) {
            out.push_str(named);
            return Ok(());
        }
    }
    if class.ranges().is_empty() {
        return Err("matches nothing".to_owned());
    }
    out.push('[');
    for range in class.ranges() {
        for (at, c) in [range.start(), range.end()].into_iter().enumerate() {
            if at == 1 {
                if range.start() == range.end() {
                    break;
                }
                out.push('-');
            }
            // Postgres has no character NUL.
            let c = if c == '\0' { '\u{1}' } else { c };
            if c.is_alphanumeric() { out.push(c) } else { out.push_str(&format!("\\U{:08X}", u32::from(c))) }
        }
        if out.len() > BYTES_MAX {
            return Err(too_complex());
        }
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_translated() {
        for (regex, expected) in [
            ("^src/.*\\.rs$", "^src/(?:[\\U00000001-\\U00000009\\U0000000B-\\U0010FFFF])*\\.rs$"),
            ("a|b+", "(?:a|(?:b)+)"),
            ("\\bfoo\\b", "\\yfoo\\y"),
            ("\\w{2,3}", "(?:\\w){2,3}"),
            ("[a-c.]", "[\\U0000002Ea-c]"),
        ] {
            assert_eq!(translated(regex, false).as_deref(), Ok(expected), "{regex}");
        }
        assert_eq!(translated("k", true).unwrap(), "[Kk\u{212a}]");
    }

    #[test]
    fn backtracking_and_large_expressions_are_refused() {
        for bad in
            ["(a)\\1", "(?=a)", "(", "a{300}", "((a{200}){200}){200}b{256}", "\\p{L}\\p{L}\\p{Lu}\\p{Ll}"]
        {
            assert!(translated(bad, false).is_err(), "{bad}");
        }
    }
}
