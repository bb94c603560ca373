//! Evidence from files in memory, also for the tests of gates.

use std::collections::HashSet;

use super::*;
use crate::site::{MemoryFiles, Site, SiteLimits};

/// The evidence of a repository with these files, which answers `questions`. Definitions are `(path, line, name)`.
pub(crate) fn evidence(
    questions: Questions,
    files: &[(&str, &str)],
    definitions: &[(&str, u32, &str)],
) -> RepositoryFacts {
    let mut builder = RepositoryBuilder::new(questions);
    builder.set_name("shop".to_owned());
    for (path, text) in files {
        builder.add_path(path);
        let language = languages::detect(path, b"");
        if let Some(language) = language.filter(|language| language.is_code()) {
            builder.add_code_language(language.id);
        }
        let is_prose = language.is_some_and(languages::Language::is_prose);
        builder.add_text(path, is_prose, std::iter::once((1, *text)));
    }
    for (path, line, name) in definitions {
        builder.add_definition(definition(path, *line, name));
    }
    builder.finish()
}

pub(crate) fn definition(path: &str, line: u32, name: &str) -> KnownDefinition {
    KnownDefinition {
        path: path.to_owned(),
        line,
        name: name.to_owned(),
        qualified: name.to_owned(),
        kind: if name.starts_with(char::is_uppercase) { "struct" } else { "function" }.to_owned(),
        is_exported: Some(true),
    }
}

/// Questions about these names.
pub(crate) fn asking(names: &[&str]) -> Questions {
    let mut questions = Questions::default();
    names.iter().for_each(|name| questions.ask_name(name));
    questions
}

#[test]
fn a_name_is_mentioned_in_any_style_but_not_by_documents_or_the_site() {
    let questions = Questions {
        site: Some("docs".to_owned()),
        ..asking(&["parse_order", "old_name", "dry-run", "shop"])
    };
    let files = [
        ("src/orders.rs", "fn parseOrder() {} // --dry-run\n"),
        ("CHANGELOG.md", "old_name is gone"),
        ("docs/x.py", "old_name()"),
        ("shop/a.rs", ""),
    ];
    let facts = evidence(questions, &files, &[]);
    for (name, expected) in
        [("parse_order", true), ("dryRun", true), ("old_name", false), ("shop", true), ("never_asked", true)]
    {
        assert_eq!(facts.mentions(name), expected, "{name}");
    }
}

#[test]
fn paths_are_known_whole_and_by_their_end() {
    let facts = evidence(Questions::default(), &[("crates/a/src/lib.rs", ""), ("x.md", "")], &[]);
    for path in ["crates/a/src/lib.rs", "crates/a", "crates/a/", "x.md", ""] {
        assert!(facts.exists(path), "{path}");
    }
    assert!(!facts.exists("crates/b") && !facts.exists("src/lib.rs"));
    assert!(
        facts.has_path_ending("src/lib.rs")
            && facts.has_path_ending("a/src")
            && !facts.has_path_ending("rc/lib.rs")
    );
}

#[test]
fn texts_are_put_together_with_their_blank_lines() {
    let mut questions = Questions::default();
    questions.ask_text("a.py");
    let mut builder = RepositoryBuilder::new(questions);
    builder.add_text("a.py", false, [(1, "one\ntwo"), (5, "five"), (6, "six\n")].into_iter());
    builder.add_text("b.py", false, std::iter::once((1, "b")));
    let facts = builder.finish();
    assert_eq!(facts.text("a.py"), Some("one\ntwo\n\n\nfive\nsix\n"));
    assert_eq!(facts.lines("a.py", 2, 5).as_deref(), Some("two\n\n\nfive"));
    assert_eq!(
        (facts.lines("a.py", 6, 7), facts.lines("a.py", 0, 1), facts.lines("a.py", 3, 2)),
        (None, None, None)
    );
    assert!(facts.text("b.py").is_none() && facts.is_indexed("b.py") && !facts.is_indexed("c.py"));
}

#[test]
fn only_texts_that_can_answer_are_read() {
    let read = |questions: Questions| {
        let builder = RepositoryBuilder::new(questions);
        let paths =
            ["README.md", "LICENSE", "package.json", ".gitmodules", "src/a.rs", "guide.md", "site/x.py"];
        let is_prose = |path: &str| path.ends_with(".md");
        paths.into_iter().filter(|path| builder.reads_text(path, is_prose(path))).collect::<Vec<_>>()
    };
    let always = ["README.md", "LICENSE", "package.json", ".gitmodules"];
    assert_eq!(read(Questions::default()), always);
    assert!(!Questions::default().asks_for_definitions());
    let named = Questions { site: Some("site".to_owned()), ..asking(&["count_coins"]) };
    assert!(named.asks_for_definitions());
    assert_eq!(read(named), [&always[..], &["src/a.rs"]].concat());
    let mut about_a_guide = Questions::default();
    about_a_guide.ask_text("guide.md");
    assert_eq!(read(about_a_guide), [&always[..], &["guide.md"]].concat());
}

#[test]
fn the_content_of_some_files_is_left_out() {
    let files = [
        ("LICENSE", "Apache License\nVersion 2.0, January 2004"),
        ("README.md", "Counts coins."),
        ("src/a.rs", "fn count_coins() {}"),
    ];
    let all = asking(&["count_coins"]).with_public_definitions();
    let unread = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let definitions = [("src/a.rs", 1, "count_coins")];
    let read = evidence(all.clone(), &files, &definitions);
    assert!(read.licence().is_some() && read.mentions("count_coins") && read.text("README.md").is_some());
    let facts = evidence(all.without_content_of(unread), &files, &definitions);
    assert!(facts.licence().is_none() && !facts.mentions("count_coins"));
    assert!(facts.definitions("count_coins").is_empty() && facts.public_definitions().is_empty());
    for (path, _) in files {
        assert!(facts.exists(path) && facts.text(path).is_none() && !facts.is_indexed(path), "{path}");
    }
}

#[test]
fn licence_packages_and_definitions_come_from_the_files() {
    let files = [
        ("LICENSE", "Apache License\nVersion 2.0, January 2004"),
        ("Cargo.toml", "[package]\nname = \"shop\"\nlicense = \"Apache-2.0\""),
        ("vendor/x/Cargo.toml", "[package]\nname = \"x\"\nlicense = \"MIT\""),
    ];
    let definitions =
        [("src/b.rs", 7, "parse_order"), ("src/a.rs", 3, "parse_order"), ("src/a.rs", 9, "other")];
    let facts = evidence(asking(&["parseOrder"]).with_public_definitions(), &files, &definitions);
    let licence = facts.licence().unwrap();
    assert_eq!((licence.spdx.as_str(), &licence.conflict), ("Apache-2.0", &None));
    assert_eq!(facts.packages().len(), 2);
    let places: Vec<_> =
        facts.definitions("parse_order").iter().map(|one| (one.path.as_str(), one.line)).collect();
    assert_eq!(places, [("src/a.rs", 3), ("src/b.rs", 7)]);
    assert!(facts.definitions("other").is_empty() && facts.public_definitions().len() == 3);
}

#[test]
fn questions_are_collected_from_pages() {
    let files: MemoryFiles =
        [("a.md", "`Store::open` and `x + y`, see [there](../README.md#use) and [here](../src/a.rs).")]
            .into_iter()
            .collect();
    let site = Site::read(&files, Some("docs"), &SiteLimits::default());
    let questions = Questions::new(&site, &[], None);
    assert_eq!(questions.names, HashSet::from(["store", "open"].map(str::to_owned)));
    assert_eq!(questions.texts, BTreeSet::from(["README.md".to_owned()]));
    assert!(
        questions.needs_text("LICENSE")
            && questions.needs_text("README.md")
            && !questions.needs_text("src/a.rs")
    );
    assert!(
        !questions.counts_mentions("docs/a.py", false) && questions.counts_mentions("docs-x/a.py", false)
    );
}
