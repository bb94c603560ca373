//! The names in a file's code, as chains: in `req.body["id"].trim()` these are `req`, `req.body` and
//! `req.body.trim`. Skips strings and comments, except for expressions inside strings.
//!
//! Works on the text, without a syntax tree. The data flow has anchors: positions where a value, a call or a function
//! starts. There must be code at an anchor, so a string or comment that seems to continue ends there.

use std::collections::HashMap;

use super::reader::Reader;
use crate::facts::Flow;

/// Marks the absence of an occurrence or a chain.
pub(super) const NONE: u32 = u32::MAX;
/// Marks an owner that is not a name, such as a literal or an expression in brackets.
pub(super) const UNNAMED: u32 = u32::MAX - 1;

/// An occurrence of a name in code: one part of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occurrence {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Index of the part that this one is a member of; [`NONE`] for the first part of a chain, [`UNNAMED`] for a member of an expression
    /// without a name.
    pub(super) owner: u32,
    /// The chain up to this part.
    pub(super) chain: u32,
    /// Id of the innermost enclosing body of an anonymous function; 0 for none.
    pub(super) lambda_body: u32,
}

/// All names of a file.
#[derive(Debug, Default)]
pub(super) struct Names<'t> {
    pub(super) text: &'t str,
    /// The parts of all chains, sorted by start.
    pub(super) parts: Vec<Occurrence>,
    /// The chain for a parent chain and a name.
    chains: HashMap<(u32, &'t str), u32>,
    /// For each chain, its parent chain; [`NONE`] for a single name, [`UNNAMED`] for a member of an expression without
    /// a name.
    parents: Vec<u32>,
    /// Boundaries of the bodies of anonymous functions: the byte, and the body that is innermost from there on.
    pub(super) lambda_bodies: Vec<(u32, u32)>,
}

impl<'t> Names<'t> {
    /// Reads a text. `flow` is the data flow of the same text.
    pub(super) fn read(text: &'t str, language: &str, flow: &Flow) -> Self {
        let mut names = Self { text, ..Self::default() };
        if u32::try_from(text.len()).is_ok() {
            Reader::new(names, language, anchors(text, flow)).run()
        } else {
            names.text = "";
            names
        }
    }

    /// Returns the name that occurs.
    pub(super) fn name(&self, part: &Occurrence) -> &'t str {
        &self.text[part.start as usize..part.end as usize]
    }

    /// Returns the names of a part's chain, from the last to the first.
    pub(super) fn reversed(&self, part: &Occurrence) -> impl Iterator<Item = &'t str> + Clone + '_ {
        let mut next = Some(*part);
        std::iter::from_fn(move || {
            let part = next?;
            next = self.parts.get(part.owner as usize).copied();
            Some(self.name(&part))
        })
    }

    /// Returns the byte where a part's chain starts.
    pub(super) fn chain_start(&self, part: &Occurrence) -> usize {
        let mut part = *part;
        while let Some(owner) = self.parts.get(part.owner as usize) {
            part = *owner;
        }
        part.start as usize
    }

    /// Returns the indexes of the parts that start at a byte from `start` to before `end`.
    pub(super) fn parts_in(&self, start: usize, end: usize) -> std::ops::Range<usize> {
        let first = self.parts.partition_point(|part| (part.start as usize) < start);
        let end = self.parts.partition_point(|part| (part.start as usize) < end);
        first..end.max(first)
    }

    /// Returns the id of the innermost body of an anonymous function around a byte; 0 for none.
    pub(super) fn lambda_body_at(&self, at: usize) -> u32 {
        let after = self.lambda_bodies.partition_point(|(from, _)| *from as usize <= at);
        after.checked_sub(1).map_or(0, |index| self.lambda_bodies[index].1)
    }

    /// Returns the chain of an assignment's target, such as `self.path`; created if it is new. For an element, this is
    /// the chain of its container.
    pub(super) fn chain_of_target(&mut self, target: &'t str) -> u32 {
        let names = target.trim_end_matches("[]").split('.');
        names.fold(NONE, |chain, name| self.chain_of(chain, name))
    }

    /// Returns the number of chains, which are numbered from 0.
    pub(super) fn chain_count(&self) -> usize {
        self.parents.len()
    }

    /// Returns the chain of a single name, if it occurs.
    pub(super) fn known_chain(&self, name: &str) -> Option<u32> {
        self.chains.get(&(NONE, name)).copied()
    }

    /// Returns the chain without its last name; `None` if that leaves no name.
    pub(super) fn parent(&self, chain: u32) -> Option<u32> {
        self.parents.get(chain as usize).copied().filter(|parent| *parent < UNNAMED)
    }

    /// Returns the chain of a member of a chain; created if it is new.
    pub(super) fn chain_of(&mut self, parent: u32, name: &'t str) -> u32 {
        let next = u32::try_from(self.parents.len()).unwrap_or(NONE);
        *self.chains.entry((parent, name)).or_insert_with(|| {
            self.parents.push(parent);
            next
        })
    }
}

/// Returns the sorted byte offsets where there is certainly code.
fn anchors(text: &str, flow: &Flow) -> Vec<usize> {
    let values = flow.assignments.iter().map(|assignment| assignment.value.start);
    let functions = flow.functions.iter().map(|function| function.range.start);
    let calls = flow.calls.iter().map(|call| call.range.start);
    let mut all: Vec<usize> = values.chain(functions).chain(calls).collect();
    all.retain(|at| text.is_char_boundary(*at));
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chains(language: &str, text: &str) -> Vec<String> {
        let names = Names::read(text, language, &Flow::default());
        let chain = |part: &Occurrence| {
            let mut chain: Vec<_> = names.reversed(part).collect();
            chain.reverse();
            chain.join(".")
        };
        names.parts.iter().map(chain).collect()
    }

    #[test]
    fn chains_continue_after_brackets() {
        for (language, text, expected) in [
            (
                "javascript",
                "req.body[k].trim(x)?.y",
                &["req", "req.body", "k", "req.body.trim", "x", "req.body.trim.y"][..],
            ),
            ("rust", "std::env::args()\n  .nth(1)", &["std", "std.env", "std.env.args", "std.env.args.nth"]),
            ("php", "$this->db->query($q)", &["this", "this.db", "this.db.query", "q"]),
            ("python", "a[1:b].c = 1.5 .d", &["a", "b", "a.c", "d"]),
        ] {
            assert_eq!(chains(language, text), expected, "{language}: {text}");
        }
    }

    #[test]
    fn strings_and_comments_contain_no_names_but_interpolations_do() {
        for (language, text, expected) in [
            ("rust", r##"a /* b */ "c" 'd' r#"e"f"# // g"##, &["a"][..]),
            ("rust", r"h('\'', i::<'j>, '\u{41}', b'k')", &["h", "i", "j", "b"]),
            ("rust", r#"format!("{a} {} {b:?} {{c}}", d)"#, &["format", "a", "b", "d"]),
            ("python", "f'{a} {{b}} {c[\"d\"]}' + 'e' # f\n'''g\n h''' + r'i' + \"\\\"j\"", &["a", "c"]),
            ("javascript", "f(`a ${b + `${c}`} d`, /e'[/]f/.test(g))", &["f", "b", "c", "test", "g"]),
            ("ruby", "\"a #{b.c} d\" + 'e #{f}' + @g", &["b", "b.c", "g"]),
            ("ruby", "x = <<~SQL\n a #{b} 'c\n SQL\nd", &["x", "b", "d"]),
            ("php", "\"a $b {$c->d} e\" . 'f $g' . $h # i", &["b", "c", "c.d", "h"]),
            ("kotlin", "\"a $b ${c.d} e\"", &["b", "c", "c.d"]),
            ("swift", "\"a \\(b) c\" + d", &["b", "d"]),
            ("csharp", "$\"a {b} c\" + @\"d\\\" + e + \"{f}\"", &["b", "e"]),
            ("go", "`a\nb` + c + 'd'", &["c"]),
        ] {
            assert_eq!(chains(language, text), expected, "{language}: {text}");
        }
    }

    #[test]
    fn names_of_arguments_and_fields_are_not_values() {
        assert_eq!(chains("javascript", "f({ a: b, c })"), ["f", "b", "c"]);
        assert_eq!(chains("python", "f(a=b, c==d)"), ["f", "b", "c", "d"]);
        assert_eq!(chains("javascript", "x ? y : z"), ["x", "y", "z"]);
    }

    #[test]
    fn bodies_of_anonymous_functions_are_distinguished() {
        let names = Names::read("f(a, (b) => { c; }, d)", "javascript", &Flow::default());
        let body = |name: &str| names.parts.iter().find(|part| names.name(part) == name).unwrap().lambda_body;
        assert_eq!(body("a"), body("d"));
        assert_ne!(body("a"), body("c"));
    }

    const LANGUAGES: &[&str] = &[
        "rust", "python", "javascript", "go", "java", "csharp", "cpp", "c", "kotlin", "scala", "swift",
        "php", "ruby", "elixir", "bash", "lua",
    ];

    proptest! {
        #[test]
        fn any_text_is_read(text in "[\\PC\\n]{0,80}", language in 0..LANGUAGES.len()) {
            let names = Names::read(&text, LANGUAGES[language], &Flow::default());
            prop_assert!(names.parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }

        #[test]
        fn any_nesting_is_read(text in "[\"'`{}()\\[\\]$#\\\\/<~fr@aS.\\n\u{e9}]{0,60}", language in 0..LANGUAGES.len()) {
            let names = Names::read(&text, LANGUAGES[language], &Flow::default());
            prop_assert!(names.parts.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
