//! Converts the text of a node to a fact's value: without redundant whitespace, arguments and sigils, and of bounded length.

use super::chain::{SEPARATORS, UNENDED_TIMES_MAX, is_beyond_ascii, parts, string_end};
use crate::identifier::{Marks, nfc};

/// Maximum length of a value in bytes; longer texts are not names.
pub(super) const VALUE_BYTES_MAX: usize = 120;

/// The text with folded whitespace; `None` if it is empty or too long.
pub(super) fn folded(raw: &str) -> Option<String> {
    // Do not read a text that is too long even if much of it is whitespace.
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
    let value = nfc(&value).into_owned();
    (!value.is_empty() && value.len() <= VALUE_BYTES_MAX).then_some(value)
}

/// A decorator, annotation or attribute without its mark: `@app.route("/")` is `app.route("/")`, `#[test]` is `test`.
pub(super) fn decorator(raw: &str) -> Option<String> {
    let bare = raw.trim().trim_start_matches(['@', '#', '!']);
    let bare = bare.strip_prefix("[[").and_then(|b| b.strip_suffix("]]")).unwrap_or(bare);
    let bare = bare.strip_prefix('[').and_then(|b| b.strip_suffix(']')).unwrap_or(bare);
    let mut cut = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    if cut.len() > VALUE_BYTES_MAX {
        // Keep only the name.
        cut.truncate(cut.find(['(', '<', ' ']).unwrap_or(0));
    }
    folded(&cut)
}

/// A declared type without a leading `:` or `->`: `: str`, `-> int`.
pub(super) fn declared_type(raw: &str) -> Option<String> {
    folded(raw.trim().trim_start_matches("->").trim_start_matches(':'))
}

/// A name without quotes and sigils, but with the marks that the language has in names. A quote at the end alone belongs to the
/// name: `x'`.
pub(super) fn name(raw: &str, marks: &Marks) -> Option<String> {
    let is_beside = |c: char| matches!(c, '"' | '`' | '$' | '&' | '*' | ':') && !marks.is_inside(c);
    let bare = raw.trim().trim_matches(is_beside);
    let bare = bare.strip_prefix('\'').map_or(bare, |inner| inner.trim_end_matches('\''));
    folded(&marks.stored(bare)).filter(|name| !name.starts_with(|c: char| c.is_ascii_digit()))
}

/// A chain of names, joined with `.` and without the contents of brackets: `self.a[0].b(c)->d` becomes `self.a.b.d`.
/// `None` if it is not a chain, such as a call of a lambda. Names keep the marks that the language has in them: `save!`, `item$`.
pub(super) fn chain(raw: &str, marks: &Marks) -> Option<String> {
    let parts = parts(raw, marks)?;
    // `a.await?.b`: `await` is not a name.
    let names = parts.iter().map(|(_, name)| name.as_str()).filter(|name| *name != "await");
    let chain = nfc(&names.collect::<Vec<_>>().join(".")).into_owned();
    let is_first = |c: char| {
        c.is_alphabetic() || matches!(c, '_' | '#' | '~') || is_beyond_ascii(c) || marks.is_inside(c)
    };
    let named = chain.starts_with(is_first)
        || raw.trim_start().chars().next().is_some_and(|c| marks.closing(c).is_some());
    (named && chain.len() <= VALUE_BYTES_MAX).then_some(chain)
}

/// Checks whether a text continues a chain.
pub(super) fn begins_with_separator(text: &str) -> bool {
    SEPARATORS.iter().any(|separator| text.starts_with(separator))
}

/// The name of a shell command: `apt-get`, `./run.sh`.
pub(super) fn command(raw: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    let raw = raw.trim();
    (raw.starts_with(is_part) && raw.chars().all(is_part) && raw.chars().any(char::is_alphabetic))
        .then(|| folded(raw))
        .flatten()
}

/// Returns the start of the first name of a chain.
pub(super) fn first_name_start(raw: &str, marks: &Marks) -> Option<usize> {
    parts(raw, marks)?.first().map(|(start, _)| *start)
}

/// Returns the start of the last name of a chain.
pub(super) fn last_name_start(raw: &str, marks: &Marks) -> Option<usize> {
    parts(raw, marks)?.last().map(|(start, _)| *start)
}

/// A target of an assignment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A name.
    Name(String),
    /// A member or an element: `a.b`, `a[]`.
    Part(String),
}

/// The targets of an assignment's left side: `a, *b` are two names, `self.a[0]` is one part, `Some(x)` binds `x`.
pub(super) fn targets(raw: &str, marks: &Marks) -> Vec<Target> {
    if raw.len() > 8 * VALUE_BYTES_MAX {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut from = 0;
    // Whether the last character, apart from whitespace, can end a name. After a name, a bracket begins an index, which belongs
    // to the target; elsewhere brackets group targets.
    let mut ends_name = false;
    // The end of a string in an index, which may contain brackets; and the bytes searched in vain for such ends.
    let (mut string_to, mut unended) = (0, 0);
    for (at, c) in raw.char_indices().chain([(raw.len(), ',')]) {
        if at < string_to {
            continue;
        }
        let follows_name = ends_name;
        if !c.is_whitespace() {
            ends_name = c.is_alphanumeric() || matches!(c, '_' | ']' | ')');
        }
        match c {
            '[' if follows_name || depth > 0 => depth += 1,
            ']' if depth > 0 => depth -= 1,
            '"' | '`' | '\'' if depth > 0 && unended <= UNENDED_TIMES_MAX * raw.len() => {
                let after_quote = at + c.len_utf8();
                match string_end(&raw[after_quote..], c) {
                    Ok(length) => string_to = after_quote + length,
                    Err(looked) => unended += looked,
                }
            }
            _ if depth > 0 => {}
            // The name of a constructor is not a target.
            '(' | '{' if raw[..at].ends_with(is_name_char) => from = at + c.len_utf8(),
            ',' | '(' | ')' | '{' | '}' | '[' | ']' | ';' | '|' | '=' => {
                found.extend(target(&raw[from..at], marks));
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if depth > 0 {
        found.extend(target(&raw[from..], marks));
    }
    found
}

/// Keywords around a name in a pattern or a declaration.
const PATTERN_WORDS: &[&str] = &[
    "mut", "ref", "let", "const", "var", "val", "final", "in", "of", "as", "box", "auto", "my", "our",
    "local",
];

fn target(raw: &str, marks: &Marks) -> Option<Target> {
    // `x: T` binds `x`; `a::b` is a path.
    let outside = raw.find('[').unwrap_or(raw.len());
    let raw = match raw[..outside].find(':') {
        Some(at) if !raw[at..].starts_with("::") => &raw[..at],
        _ => raw,
    };
    let words = raw.split_whitespace().filter(|word| !PATTERN_WORDS.contains(word));
    let text = words.collect::<Vec<_>>().join(" ");
    let is_before = |c: char| matches!(c, '*' | '&' | '$' | '@' | '.' | '^') && !marks.is_inside(c);
    let text = text.trim_start_matches(is_before).trim_end_matches(['?', '!']);
    let outside = text.find('[').map_or(text, |at| &text[..at]);
    if text.is_empty() || outside.contains(' ') || text == "_" {
        return None;
    }
    if text.chars().all(|c| is_name_char(c) || is_beyond_ascii(c) || marks.is_inside(c)) {
        return text.starts_with(|c: char| !c.is_ascii_digit()).then(|| Target::Name(nfc(text).into_owned()));
    }
    let mut part = chain(text, marks)?;
    if text.ends_with(']') {
        part.push_str("[]");
    }
    Some(Target::Part(part))
}

pub(super) fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '\'')
}

/// Names of literal values.
const LITERALS: &[&str] = &[
    "true", "false", "null", "nil", "none", "True", "False", "None", "NULL", "nullptr", "undefined",
    "default",
];

/// Checks whether a value is only a chain of names, so that its target is an alias.
pub(super) fn is_plain_chain(raw: &str) -> bool {
    let bare = raw.trim_start_matches(['$', '@', '&', '*']);
    !LITERALS.contains(&raw)
        && bare.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !bare.contains(['(', '[', '{', '"', '\'', ' ', '\n', '<', '+', '?', ',', '@', '&', '*'])
}

/// Return types of functions that return no value.
const NOTHING: &[&str] = &[
    "void", "()", "None", "Unit", "Void", "undefined", "never", "Never", "NoReturn", "!", "Nothing",
    "noreturn",
];

/// Checks whether a function with this declared return type returns a value.
pub(super) fn is_value_type(name: &str) -> bool {
    !NOTHING.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> &'static Marks {
        Marks::of("")
    }

    use proptest::prelude::*;

    fn target_list(raw: &str) -> Vec<String> {
        let shown = |target| match target {
            Target::Name(name) => name,
            Target::Part(part) => format!("part {part}"),
        };
        targets(raw, plain()).into_iter().map(shown).collect()
    }

    #[test]
    fn chains_omit_the_contents_of_brackets() {
        for (raw, expected) in [
            ("self.a[0].b(c)->d", Some("self.a.b.d")),
            ("std::mem::take::<T>", Some("std.mem.take")),
            ("a?.b!.c", Some("a.b.c")),
            ("println!", Some("println")),
            ("$this->db", Some("this.db")),
            ("foo", Some("foo")),
            ("obj:method", Some("obj.method")),
            ("load().await?.rows", Some("load.rows")),
            ("orders.Where(x => x.Open).Select", Some("orders.Where.Select")),
            ("log.Get(\"a)\").Run", Some("log.Get.Run")),
            ("xs.filter { $0 > 3 }.map", Some("xs.filter.map")),
            ("parse::<Vec<u8>>", Some("parse")),
            ("foldl'", Some("foldl'")),
            ("new Foo().bar", Some("Foo.bar")),
            ("await new Foo<T>()\n    .bar", Some("Foo.bar")),
            ("&mut self.x", Some("self.x")),
            ("try? load().rows", Some("load.rows")),
            ("node.template get<T>", Some("node.get")),
            ("a\n    . b", Some("a.b")),
            ("new", Some("new")),
            ("new ", Some("new")),
            ("newest.mutable", Some("newest.mutable")),
            ("obj.*member", Some("obj.member")),
            ("rows&.first", Some("rows.first")),
            ("not x", None),
            ("a * b", None),
            ("a*b", None),
            ("a&b", None),
            ("f(x) y", None),
            ("a.b()\n    # It's said.\n    .c", Some("a.b.c")),
            ("a.\n  # said\n  b", Some("a.b")),
            ("this.#secret", Some("this.#secret")),
            ("new (make())(x)", None),
            ("(|x| x)", None),
            ("\"a\".join", None),
            ("1", None),
        ] {
            assert_eq!(chain(raw, plain()).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn names_keep_the_marks_of_their_language() {
        for (language, raw, expected) in [
            ("ruby", "user.save!", "user.save!"),
            ("ruby", "user.valid?.to_s", "user.valid?.to_s"),
            ("ruby", "@rows.empty?", "rows.empty?"),
            ("elixir", "Repo.get!", "Repo.get!"),
            ("rust", "println!", "println"),
            ("rust", "self.r#match", "self.match"),
            ("javascript", "this.item$.pipe", "this.item$.pipe"),
            ("typescript", "$item", "$item"),
            ("typescript", "a!.b", "a.b"),
            ("php", "$this->db", "this.db"),
            ("kotlin", "`adds two numbers`", "adds two numbers"),
            ("kotlin", "Sum().`2 and 2`", "Sum.2 and 2"),
            ("csharp", "@class.Run", "class.Run"),
            ("swift", "try! `default`.run", "default.run"),
            ("python", "Gro\u{308}\u{df}e.x", "Gr\u{f6}\u{df}e.x"),
        ] {
            assert_eq!(chain(raw, Marks::of(language)).as_deref(), Some(expected), "{language} {raw}");
        }
        assert_eq!(name("item$", Marks::of("typescript")).as_deref(), Some("item$"));
        assert_eq!(name("$item", Marks::of("php")).as_deref(), Some("item"));
        assert_eq!(targets("item$", Marks::of("javascript")), [Target::Name("item$".to_owned())]);
    }

    #[test]
    fn targets_are_names_or_parts() {
        assert_eq!(target_list("a"), ["a"]);
        assert_eq!(target_list("a, *b"), ["a", "b"]);
        assert_eq!(target_list("(x, mut y)"), ["x", "y"]);
        assert_eq!(target_list("self.a[i, j]"), ["part self.a[]"]);
        assert_eq!(target_list("Some(x)"), ["x"]);
        assert_eq!(target_list("{ a, b: c }"), ["a", "b"]);
        assert_eq!(target_list("let mut total: u64"), ["total"]);
        assert_eq!(target_list("*source"), ["source"]);
        assert_eq!(target_list("h[:k]"), ["part h[]"]);
        assert_eq!(target_list("a[[0, 1], x]"), ["part a[]"]);
        assert_eq!(target_list("df.loc[[i], col], rest"), ["part df.loc[]", "rest"]);
        assert_eq!(target_list("a[b[0]], c[f[1][2]]"), ["part a[]", "part c[]"]);
        assert_eq!(target_list("a[\"[\"], b['x]'], c"), ["part a[]", "part b[]", "c"]);
        assert_eq!(target_list("[a, [b, c]]"), ["a", "b", "c"]);
        assert_eq!(target_list("_"), Vec::<String>::new());
        assert_eq!(target_list("$this->name"), ["part this.name"]);
    }

    #[test]
    fn names_start_after_leading_keywords() {
        assert_eq!(last_name_start("&mut self.x", plain()), Some(10));
        assert_eq!(last_name_start("new Foo", plain()), Some(4));
        assert_eq!(last_name_start("a.template b", plain()), Some(11));
    }

    #[test]
    fn only_chains_of_names_are_plain() {
        for raw in ["a", "a.b", "self.a", "$this->db", "@rows", "@@all", "&a.b", "**a", "a::B"] {
            assert!(is_plain_chain(raw), "{raw}");
        }
        for raw in ["a*b", "a&b", "a&&b", "a**b", "&a*b", "a@b", "a&.b", "*", "a b", "f()", "None", "1"] {
            assert!(!is_plain_chain(raw), "{raw}");
        }
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
            let _ = (chain(&raw, plain()), targets(&raw, plain()), decorator(&raw), name(&raw, plain()));
        }
    }
}
