//! Laws that hold for all entries, files and formats.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::scope::scopes;

/// Bodies that read back exactly: nothing is left open, headings are not underlined, and none is deeper than level 4.
const EXACT_BODY: &str = "(#{1,4} [a-c]( #)?|MUST x|\n```\n# c\n```\n|Requirement: optional|- a|  ## d\
                          |<!-- instruction: z -->|\n|\n\n){0,8}x";
/// Files, with and without front matter.
const FILE: &str = "(---\n(globs|applyTo|description|trigger|name): (\\*\\.Ts|a: b|glob|manual|\\[a, b\\]|x # y)\n\
                    (alwaysApply: true\n)?---\n)?(#{1,6} [a-c]|[ab]\n==|text MUST|```|~~~|<!--|-->|@a|\r|\t|  \
                    |<!-- instruction: x -->|\n|\n\n){0,14}";
const PATHS: [&str; 10] = [
    "AGENTS.md",
    "web/AGENTS.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    ".cursor/rules/X/r.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/r.instructions.md",
    ".windsurfrules",
    ".windsurf/rules/r.md",
    "s/Pdf/SKILL.md",
];
const GLOB: &str =
    "(\\*\\*/\\*\\.(ts|\\{a,b\\}|Md)|web/\\*\\*|Src/x|api/\\[\\[\\]a\\[\\]\\]/\\*\\*|#a|\\{x,y\\})";

prop_compose! {
    fn any_entry()(
        id in "[a-f]{1,2}",
        title in "[ab]([#:`]| #| MUST|x){0,4}",
        body in EXACT_BODY,
        priority in prop_oneof![Just(50_u8), 1..=100_u8],
        requirement in prop_oneof![Just("mandatory"), Just("critical"), Just("recommended"), Just("optional")],
        rationale in proptest::option::of("[a-c]{1,3}(: x| #|\n- y)?"),
        globs in proptest::collection::btree_set(GLOB, 0..3),
        other in proptest::sample::subsequence(vec!["always", "on-demand", "manual", "file:.cursor/rules/q.mdc", "git"], 0..3),
    ) -> Stored {
        let globs = globs.iter().map(|glob| encoded(SCOPE_PREFIX, glob));
        let categories: Vec<String> = globs.chain(other.into_iter().map(str::to_owned)).collect();
        stored(json!({ "id": id, "title": title, "body": body, "priority": priority, "audience": "all",
            "requirement": requirement, "rationale": rationale, "categories": categories }))
    }
}

fn any_entries() -> impl Strategy<Value = Vec<Stored>> {
    proptest::collection::vec(any_entry(), 0..6).prop_map(|mut entries| {
        entries.sort_by(|one, other| one.instruction.id.cmp(&other.instruction.id));
        entries.dedup_by(|one, other| one.instruction.id == other.instruction.id);
        entries
    })
}

/// Returns the fields of an entry that every format holds.
fn held(entry: &Stored) -> (String, String, String, u8, &'static str, Vec<String>) {
    let Instruction { id, title, body, priority, requirement, .. } = entry.instruction.clone();
    (id, title, body, priority, requirement.as_str(), scopes(&entry.instruction))
}

/// Returns the entries that a format holds in full; it only names the others.
fn whole(format: &AgentFormat, entries: Vec<Stored>) -> Vec<Stored> {
    let is_whole = |entry: &Stored| {
        exported(format, std::slice::from_ref(entry))
            .iter()
            .all(|(_, text)| !text.contains("<!-- instructions on demand -->"))
    };
    entries.into_iter().filter(is_whole).collect()
}

fn any_format() -> impl Strategy<Value = &'static AgentFormat> {
    (0..FORMATS.len()).prop_map(|index| &FORMATS[index])
}

proptest! {
    #[test]
    fn what_is_exported_is_imported_again(entries in any_entries(), format in any_format()) {
        let files = exported(format, &entries);
        let entries = whole(format, entries);
        let mut back: Vec<_> = all_imported(&files).iter().map(held).collect();
        back.sort();
        prop_assert_eq!(back, entries.iter().map(held).collect::<Vec<_>>(), "{:?}", files);
    }

    #[test]
    fn the_order_of_entries_does_not_matter(entries in any_entries(), format in any_format(), turn in 0..6_usize) {
        let files = exported(format, &entries);
        let mut turned = entries;
        turned.reverse();
        let length = turned.len().max(1);
        turned.rotate_left(turn % length);
        prop_assert_eq!(&exported(format, &turned), &files);
        let paths: BTreeSet<String> = files.iter().map(|(path, _)| path.to_lowercase()).collect();
        prop_assert_eq!(paths.len(), files.len());
        prop_assert!(files.iter().all(|(path, text)| format.kind_of(path).is_some() && !text.contains('\r')));
    }

    #[test]
    fn exporting_what_was_exported_changes_nothing(
        text in FILE,
        path in proptest::sample::select(&PATHS[..]),
        format in any_format(),
    ) {
        if let Ok(rules) = import(path, &text) {
            let entries: Vec<Stored> = rules.entries.into_iter().map(stored).collect();
            let entries = whole(format, entries);
            let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.instruction.id.as_str()).collect();
            prop_assert_eq!(ids.len(), entries.len());
            // The first export may choose any format; the next ones must not change anything.
            let first = exported(format, &entries);
            let second = exported(format, &all_imported(&first));
            prop_assert_eq!(&second, &first);
            let sections: usize = first.iter().map(|(path, text)| imported(path, text).len()).sum();
            prop_assert_eq!(sections, entries.len());
        }
    }

    #[test]
    fn no_file_makes_the_import_panic(text in ".{0,200}", path in proptest::sample::select(&PATHS[..])) {
        let _ = import(path, &text);
    }
}
