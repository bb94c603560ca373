//! The names in a file's code, as chains: in `req.body["id"].trim()` these are `req`, `req.body` and
//! `req.body.trim`. Strings and comments are passed over, except for the expressions inside strings.
//!
//! The syntax tree knows more, but not all of it is kept; what is kept serves as anchors. Where the flow says that a
//! value, a call or a function starts, there is code, and a string or comment that seems to run on ends.

use std::collections::HashMap;

use super::reader::Reader;
use crate::facts::Flow;

/// No part, no chain.
pub(super) const NONE: u32 = u32::MAX;
/// Selected from what is no name: a literal, a bracket.
pub(super) const UNNAMED: u32 = u32::MAX - 1;

/// One name where it stands in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The part that it is selected from; [`NONE`] for a chain's first part.
    pub(super) before: u32,
    /// The chain up to this part.
    pub(super) chain: u32,
    /// The innermost body of a function without a name that it stands in.
    pub(super) body: u32,
}

/// All names of a file.
#[derive(Debug, Default)]
pub(super) struct Names<'t> {
    pub(super) text: &'t str,
    /// By start.
    pub(super) parts: Vec<Part>,
    chains: HashMap<(u32, &'t str), u32>,
    /// By chain: the chain it is selected from.
    parents: Vec<u32>,
    /// From which byte on which body holds.
    pub(super) bodies: Vec<(u32, u32)>,
}

impl<'t> Names<'t> {
    /// Reads a text. `flow` must be that of this text.
    pub(super) fn read(text: &'t str, language: &str, flow: &Flow) -> Self {
        let mut names = Self { text, ..Self::default() };
        if u32::try_from(text.len()).is_ok() {
            Reader::new(names, language, anchors(text, flow)).run()
        } else {
            names.text = "";
            names
        }
    }

    /// The name itself.
    pub(super) fn name(&self, part: &Part) -> &'t str {
        &self.text[part.start as usize..part.end as usize]
    }

    /// The names of a part's chain, from its last to its first.
    pub(super) fn reversed(&self, part: &Part) -> impl Iterator<Item = &'t str> + Clone + '_ {
        let mut next = Some(*part);
        std::iter::from_fn(move || {
            let part = next?;
            next = self.parts.get(part.before as usize).copied();
            Some(self.name(&part))
        })
    }

    /// Where a part's chain starts.
    pub(super) fn chain_start(&self, part: &Part) -> usize {
        let mut part = *part;
        while let Some(before) = self.parts.get(part.before as usize) {
            part = *before;
        }
        part.start as usize
    }

    /// The parts that start in a range.
    pub(super) fn within(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        let first = self.parts.partition_point(|part| (part.start as usize) < from);
        let last = self.parts.partition_point(|part| (part.start as usize) < to);
        first..last.max(first)
    }

    /// The innermost body of a function without a name around a byte.
    pub(super) fn body(&self, at: usize) -> u32 {
        let after = self.bodies.partition_point(|(from, _)| *from as usize <= at);
        after.checked_sub(1).map_or(0, |index| self.bodies[index].1)
    }

    /// The chain of an assignment's target: `self.path`; of an element, that of what holds it.
    pub(super) fn target(&mut self, target: &'t str) -> u32 {
        let names = target.trim_end_matches("[]").split('.');
        names.fold(NONE, |chain, name| self.chain_of(chain, name))
    }

    /// How many chains there are; they are numbered from 0.
    pub(super) fn chain_count(&self) -> usize {
        self.parents.len()
    }

    /// The chain of a single name, if it stands anywhere.
    pub(super) fn known_chain(&self, name: &str) -> Option<u32> {
        self.chains.get(&(NONE, name)).copied()
    }

    /// The chain that a chain is selected from.
    pub(super) fn parent(&self, chain: u32) -> Option<u32> {
        self.parents.get(chain as usize).copied().filter(|parent| *parent < UNNAMED)
    }

    /// The chain of a name that is selected from a chain.
    pub(super) fn chain_of(&mut self, parent: u32, name: &'t str) -> u32 {
        let next = u32::try_from(self.parents.len()).unwrap_or(NONE);
        *self.chains.entry((parent, name)).or_insert_with(|| {
            self.parents.push(parent);
            next
        })
    }
}

/// Bytes at which there is code, sorted.
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
        let chain = |part: &Part| {
            let mut chain: Vec<_> = names.reversed(part).collect();
            chain.reverse();
            chain.join(".")
        };
        names.parts.iter().map(chain).collect()
    }

    #[test]
    fn chains_go_over_brackets() {
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
    fn strings_and_comments_hold_no_names_but_their_holes_do() {
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
    fn names_of_arguments_and_fields_are_no_values() {
        assert_eq!(chains("javascript", "f({ a: b, c })"), ["f", "b", "c"]);
        assert_eq!(chains("python", "f(a=b, c==d)"), ["f", "b", "c", "d"]);
        assert_eq!(chains("javascript", "x ? y : z"), ["x", "y", "z"]);
    }

    #[test]
    fn bodies_without_a_name_are_told_apart() {
        let names = Names::read("f(a, (b) => { c; }, d)", "javascript", &Flow::default());
        let body = |name: &str| names.parts.iter().find(|part| names.name(part) == name).unwrap().body;
        assert_eq!(body("a"), body("d"));
        assert_ne!(body("a"), body("c"));
    }

    const LANGUAGES: &[&str] = &[
        "rust",
        "python",
        "javascript",
        "go",
        "java",
        "csharp",
        "cpp",
        "c",
        "kotlin",
        "scala",
        "swift",
        "php",
        "ruby",
        "elixir",
        "bash",
        "lua",
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
