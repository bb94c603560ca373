//! Tests of selections from lists in the form that hosts send.

use super::super::remote::RemoteHead;
use super::*;

fn patterns(texts: &[&str]) -> RevisionPatterns {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    RevisionPatterns::parse(&texts).unwrap()
}

/// The answer of a host with the default branch `main`.
fn answer(lines: &[u8]) -> RemoteAnswer {
    let head =
        RemoteHead { reference: Some("refs/heads/main".to_owned()), commit: id(0), url: String::new() };
    RemoteAnswer { head, lines: lines.to_vec(), is_cut: false }
}

fn id(number: usize) -> String {
    format!("{number:040x}")
}

/// Returns the list with these references, whose ids are their positions.
fn list(references: &[impl AsRef<str>]) -> Vec<u8> {
    let lines = references.iter().enumerate();
    lines.map(|(at, name)| format!("{}\t{}\n", id(at), name.as_ref())).collect::<String>().into_bytes()
}

fn selection(lines: &[u8], texts: &[&str]) -> Selection {
    select(&answer(lines), &patterns(texts), &|| false).unwrap()
}

fn names(selection: &Selection) -> Vec<&str> {
    selection.revisions.iter().map(|revision| revision.name.as_str()).collect()
}

#[test]
fn branches_come_by_name_and_tags_from_the_newest_version_on() {
    let lines = list(&[
        "refs/heads/main",
        "refs/heads/release/2",
        "refs/heads/release/10",
        "refs/heads/topic",
        "refs/tags/v1.10.0",
        "refs/tags/v1.9.0",
        "refs/tags/v1.9.0^{}",
        "refs/tags/v01.9.0",
        "refs/tags/w1",
        "refs/pull/1/head",
        "refs/remotes/origin/refs/heads/release/3",
    ]);
    let selected = selection(&lines, &["release/*", "v*"]);
    assert_eq!(names(&selected), ["release/10", "release/2", "v1.10.0", "v1.9.0", "v01.9.0"]);
    assert_eq!(selected.notes, [""; 0]);
    assert_eq!(selected.revisions[0].kind, RevisionKind::Branch);
    assert_eq!(selected.revisions[2].commit, id(4));
    let annotated = &selected.revisions[3];
    assert_eq!((annotated.kind, &annotated.commit), (RevisionKind::Tag, &id(6)), "what the tag is of");
}

#[test]
fn the_default_branch_is_not_fetched_twice() {
    let lines = list(&["refs/heads/main", "refs/heads/other", "refs/tags/main"]);
    let selected = selection(&lines, &["main", "*"]);
    assert_eq!(names(&selected), ["other"]);
    assert_eq!(selected.notes.len(), 1, "{:?}", selected.notes);
    assert!(selected.notes[0].contains("tag `main`"), "{:?}", selected.notes);
}

#[test]
fn a_name_means_the_branch_and_a_pattern_without_a_match_is_named() {
    let lines = list(&["refs/heads/1.0", "refs/tags/1.0", "refs/tags/2.0", "refs/heads/1.0"]);
    let selected = selection(&lines, &["?.0", "nightly-*"]);
    assert_eq!(names(&selected), ["1.0", "2.0"]);
    assert_eq!(selected.revisions[0].kind, RevisionKind::Branch);
    let has = |part: &str| selected.notes.iter().any(|note| note.contains(part));
    assert!(has("`nightly-*`") && has("`1.0`") && selected.notes.len() == 2, "{:?}", selected.notes);
}

#[test]
fn names_that_git_could_not_use_are_left_out_and_counted() {
    let long = format!("refs/heads/{}", "x".repeat(256));
    let mut lines = list(&[
        "refs/heads/-option", "refs/heads/a/../b", "refs/heads/a b", "refs/heads/a:b", "refs/heads/x.lock",
        "refs/heads/dot.", &long, "refs/tags/", "refs/heads/good", "refs/heads/not-mine:x",
    ]);
    lines.extend_from_slice(format!("{}\trefs/heads/\u{fffd}", id(1)).as_bytes());
    lines.extend_from_slice(b"\xff\n");
    lines.extend_from_slice(b"nonsense\trefs/heads/nonsense\nno tab\n\n");
    let selected = selection(&lines, &["*o*", "a*", "x*", "good", "\u{fffd}*"]);
    assert_eq!(names(&selected), ["good"]);
    // The empty name and the lines without an id count as no references.
    assert_eq!(selected.notes, ["9 branches or tags were left out, because their names cannot be used."]);
}

#[test]
fn more_than_the_limit_are_left_out_from_the_end() {
    let mut references: Vec<String> = (0..10).map(|n| format!("refs/heads/b{n}")).collect();
    references.extend((0..100).map(|n| format!("refs/tags/v1.{n}")));
    let selected = selection(&list(&references), &["*"]);
    assert_eq!(selected.revisions.len(), REVISIONS_MAX);
    let names = names(&selected);
    assert_eq!(names[..11], ["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "v1.99"]);
    assert_eq!(names.last(), Some(&"v1.47"));
    assert_eq!(selected.notes.len(), 1);
    assert!(selected.notes[0].starts_with("110 branches and tags match"), "{:?}", selected.notes);
}

#[test]
fn a_list_that_was_cut_is_read_up_to_its_last_whole_line() {
    let mut lines = list(&["refs/heads/main", "refs/heads/release/1"]);
    lines.extend_from_slice(format!("{}\trefs/heads/release/1", id(2)).as_bytes());
    let cut = RemoteAnswer { is_cut: true, ..answer(&lines) };
    let selected = select(&cut, &patterns(&["*"]), &|| false).unwrap();
    assert_eq!(names(&selected), ["release/1"]);
    assert_eq!(selected.revisions[0].commit, id(1));
    assert!(selected.notes[0].contains("16 MiB"), "{:?}", selected.notes);
}

#[test]
fn a_long_list_is_read_until_it_must_stop() {
    let references: Vec<String> = (0..100_000).map(|n| format!("refs/tags/v{n}")).collect();
    let lines = list(&references);
    let selected = selection(&lines, &["v9999?"]);
    assert_eq!((selected.revisions.len(), names(&selected)[0]), (10, "v99999"));
    let stopped = select(&answer(&lines), &patterns(&["*"]), &|| true).unwrap_err();
    assert_eq!(stopped.code, ErrorCode::Cancelled);
    let nothing = select(&answer(&lines), &RevisionPatterns::default(), &|| false).unwrap();
    assert!(nothing.revisions.is_empty() && nothing.notes.is_empty());
}
