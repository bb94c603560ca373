//! The text of a node as a fact's value: without whitespace, arguments and decoration, and not too long.

/// Longest value in bytes; what is longer names nothing.
pub(super) const VALUE_BYTES_MAX: usize = 120;

/// Whitespace folded; none when nothing is left or it is too long.
pub(super) fn folded(raw: &str) -> Option<String> {
    // The first bytes tell: a value this long with whitespace in it would be cut anyway.
    if raw.len() > 8 * VALUE_BYTES_MAX {
        return None;
    }
    let mut value = String::with_capacity(raw.len());
    for word in raw.split_whitespace() {
        if !value.is_empty() {
            value.push(' ');
        }
        value.push_str(word);
    }
    (!value.is_empty() && value.len() <= VALUE_BYTES_MAX).then_some(value)
}

/// A decorator, annotation or attribute without its mark: `@app.route("/")` is `app.route("/")`, `#[test]` is `test`.
pub(super) fn decorator(raw: &str) -> Option<String> {
    let bare = raw.trim().trim_start_matches(['@', '#', '!']);
    let bare = bare.strip_prefix("[[").and_then(|b| b.strip_suffix("]]")).unwrap_or(bare);
    let bare = bare.strip_prefix('[').and_then(|b| b.strip_suffix(']')).unwrap_or(bare);
    let mut cut = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    if cut.len() > VALUE_BYTES_MAX {
        // The name says most of it.
        cut.truncate(cut.find(['(', '<', ' ']).unwrap_or(0));
    }
    folded(&cut)
}

/// A declared type without the marks that stand between it and its name: `: str`, `-> int`.
pub(super) fn declared_type(raw: &str) -> Option<String> {
    folded(raw.trim().trim_start_matches("->").trim_start_matches(':'))
}

/// A name without quotes and sigils.
pub(super) fn name(raw: &str) -> Option<String> {
    folded(raw.trim().trim_matches(['"', '\'', '`', '$', '&', '*', ':']))
}

/// What stands between the parts of a dotted name.
const JOINTS: &[&str] = &["?.", "!.", "::", "->", ".", "\\"];

/// A chain of names with `.` between them, what is in brackets left out: `self.a[0].b(c)->d` is `self.a.b.d`.
/// None where it is no chain, such as a call of a lambda.
pub(super) fn chain(raw: &str) -> Option<String> {
    let mut bare = String::with_capacity(raw.len().min(256));
    let mut depth = 0usize;
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        // Operators that hold a bracket character are joints first.
        if depth == 0
            && let Some(joint) = JOINTS.iter().find(|joint| rest.starts_with(**joint))
        {
            if !bare.is_empty() && !bare.ends_with('.') {
                bare.push('.');
            }
            rest = &rest[joint.len()..];
            continue;
        }
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if depth > 0 || c.is_whitespace() || matches!(c, '!' | '?' | '$' | '@' | '&' | '*') => {}
            c if c.is_alphanumeric() || matches!(c, '_' | '#' | '~' | '\'') => bare.push(c),
            _ => return None,
        }
        if bare.len() > 4 * VALUE_BYTES_MAX {
            return None;
        }
        rest = &rest[c.len_utf8()..];
    }
    let bare = bare.trim_matches('.');
    let named = bare.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '#' | '~'));
    (named && bare.len() <= VALUE_BYTES_MAX).then(|| bare.to_owned())
}

/// The last part of a chain.
pub(super) fn last_part(chain: &str) -> &str {
    chain.rsplit('.').next().unwrap_or(chain)
}

/// What an assignment does to one target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A name.
    Name(String),
    /// A member or an element: `a.b`, `a[]`.
    Part(String),
}

/// The targets of an assignment's left side: `a, *b` are two names, `self.a[0]` is one part, `Some(x)` binds `x`.
pub(super) fn targets(raw: &str) -> Vec<Target> {
    if raw.len() > 8 * VALUE_BYTES_MAX {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    // A pattern's brackets group targets; an index's follow a name and belong to it.
    for (at, c) in raw.char_indices().chain([(raw.len(), ',')]) {
        let follows_name =
            raw[..at].trim_end().ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ']' | ')'));
        match c {
            '[' | '(' if follows_name && c == '[' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            ',' | '(' | ')' | '{' | '}' | '[' | ']' | ';' | '|' | '=' => {
                found.extend(target(&raw[from..at]));
                from = at + c.len_utf8();
            }
            _ => {}
        }
        if at == raw.len() {
            break;
        }
    }
    if depth > 0 {
        found.extend(target(&raw[from..]));
    }
    found
}

/// Words around a name in a pattern or a declaration.
const PATTERN_WORDS: &[&str] = &[
    "mut", "ref", "let", "const", "var", "val", "final", "in", "of", "as", "box", "auto", "my", "our",
    "local",
];

fn target(raw: &str) -> Option<Target> {
    // `x: T` binds `x`; `a::b` is a path.
    let raw = match raw.find(':') {
        Some(at) if !raw[at..].starts_with("::") && !raw[..at].ends_with(':') => &raw[..at],
        _ => raw,
    };
    let words = raw.split_whitespace().filter(|word| !PATTERN_WORDS.contains(word));
    let text = words.collect::<Vec<_>>().join(" ");
    let text = text.trim_start_matches(['*', '&', '$', '@', '.', '^']).trim_end_matches(['?', '!']);
    let outside = text.find('[').map_or(text, |at| &text[..at]);
    if text.is_empty() || outside.contains(' ') || text == "_" {
        return None;
    }
    if text.chars().all(is_name_char) {
        return text.starts_with(|c: char| !c.is_ascii_digit()).then(|| Target::Name(text.to_owned()));
    }
    let mut part = chain(text)?;
    if text.ends_with(']') {
        part.push_str("[]");
    }
    Some(Target::Part(part))
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a value is only a chain of names, so that its target is another name for it.
pub(super) fn is_plain_chain(raw: &str) -> bool {
    raw.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '&' | '*'))
        && !raw.contains(['(', '[', '{', '"', '\'', ' ', '\n', '<', '+', '?', ','])
}

/// What an import brings in: a path without quotes, a list in braces spread out (`a::{b, c}`), and the paths above it.
pub(super) fn imports(raw: &str) -> Vec<String> {
    let mut spread_out = Vec::new();
    spread("", raw, 0, &mut spread_out);
    let mut found: Vec<String> = Vec::new();
    for path in spread_out {
        let quoted = path.starts_with(['"', '\'', '`', '<']);
        let Some(path) = folded(path.trim().trim_matches(['"', '\'', '`', '<', '>', ';'])) else { continue };
        let mut above = path.as_str();
        // What is quoted or has a slash is a file or a package's whole name.
        let joint = if quoted || path.contains('/') {
            None
        } else {
            ["::", ".", "\\"].into_iter().find(|joint| path.contains(joint))
        };
        while let Some((parent, _)) = joint.and_then(|joint| above.rsplit_once(joint)) {
            if parent.is_empty() || parent.ends_with(['.', ':']) {
                break;
            }
            found.push(parent.to_owned());
            above = parent;
        }
        found.push(path);
    }
    found.sort();
    found.dedup();
    found
}

/// Lists inside lists, as deep as people write them.
const SPREAD_DEPTH_MAX: usize = 8;

fn spread(before: &str, raw: &str, depth: usize, found: &mut Vec<String>) {
    let mut level = 0usize;
    let mut from = 0;
    for (at, c) in raw.char_indices().chain([(raw.len(), ',')]) {
        match c {
            '{' => level += 1,
            '}' => level = level.saturating_sub(1),
            ',' if level == 0 => {
                let one = raw[from..at].trim();
                let one = one.split(" as ").next().unwrap_or(one).trim();
                match one.split_once('{') {
                    Some((head, list)) if depth < SPREAD_DEPTH_MAX => {
                        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
                        spread(&format!("{before}{}", head.trim()), list, depth + 1, found);
                    }
                    _ if one == "self" => found.push(before.trim_end_matches("::").to_owned()),
                    _ if one.is_empty() => {}
                    _ => {
                        found.push(format!("{before}{}", one.trim_end_matches("::*").trim_end_matches(".*")))
                    }
                }
                from = at + 1;
            }
            _ => {}
        }
        if at >= raw.len() {
            break;
        }
    }
}

/// Types that say that nothing is given back.
const NOTHING: &[&str] = &[
    "void",
    "()",
    "None",
    "Unit",
    "Void",
    "undefined",
    "never",
    "Never",
    "NoReturn",
    "!",
    "Nothing",
    "noreturn",
];

/// Whether a declared return type gives a value back.
pub(super) fn is_value_type(name: &str) -> bool {
    !NOTHING.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target_list(raw: &str) -> Vec<String> {
        let shown = |target| match target {
            Target::Name(name) => name,
            Target::Part(part) => format!("part {part}"),
        };
        targets(raw).into_iter().map(shown).collect()
    }

    #[test]
    fn chains_leave_out_what_is_in_brackets() {
        for (raw, expected) in [
            ("self.a[0].b(c)->d", Some("self.a.b.d")),
            ("std::mem::take::<T>", Some("std.mem.take")),
            ("a?.b!.c", Some("a.b.c")),
            ("println!", Some("println")),
            ("$this->db", Some("this.db")),
            ("foo", Some("foo")),
            ("(|x| x)", None),
            ("\"a\".join", None),
            ("1", None),
        ] {
            assert_eq!(chain(raw).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn targets_are_names_or_parts() {
        assert_eq!(target_list("a"), ["a"]);
        assert_eq!(target_list("a, *b"), ["a", "b"]);
        assert_eq!(target_list("(x, mut y)"), ["x", "y"]);
        assert_eq!(target_list("self.a[i, j]"), ["part self.a[]"]);
        assert_eq!(target_list("Some(x)"), ["Some", "x"]);
        assert_eq!(target_list("{ a, b: c }"), ["a", "b"]);
        assert_eq!(target_list("let mut total: u64"), ["total"]);
        assert_eq!(target_list("*source"), ["source"]);
        assert_eq!(target_list("_"), Vec::<String>::new());
        assert_eq!(target_list("$this->name"), ["part this.name"]);
    }

    #[test]
    fn imports_are_spread_out_with_their_parents() {
        assert_eq!(imports("a::{b, c::{d, self}}"), ["a", "a::b", "a::c", "a::c::d"]);
        assert_eq!(imports("\"./x/y.js\""), ["./x/y.js"]);
        assert_eq!(imports("os.path"), ["os", "os.path"]);
        assert_eq!(imports("..pkg.mod"), ["..pkg", "..pkg.mod"]);
        assert_eq!(imports("<stdio.h>"), ["stdio.h"]);
        assert_eq!(imports("std::fmt::*"), ["std", "std::fmt"]);
    }

    #[test]
    fn decorators_lose_their_marks() {
        assert_eq!(decorator("@app.route(\"/\")").as_deref(), Some("app.route(\"/\")"));
        assert_eq!(decorator("#[derive(Debug)]").as_deref(), Some("derive(Debug)"));
        assert_eq!(decorator("[[nodiscard]]").as_deref(), Some("nodiscard"));
    }

    proptest! {
        #[test]
        fn nothing_panics(raw in "\\PC{0,60}") {
            let _ = (chain(&raw), targets(&raw), imports(&raw), decorator(&raw), name(&raw));
        }
    }
}
