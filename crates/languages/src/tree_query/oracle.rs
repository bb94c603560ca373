//! Tests that every query of every language has the same matches here as with tree-sitter.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use streaming_iterator::StreamingIterator;
use tree_sitter::{Parser, QueryCursor, Tree};

use super::{Matcher, Nodes, Query, capture_names};
use crate::{Language, PARSED};

/// A match: its pattern, and its captures by name, range and kind.
type Match = (usize, Vec<(String, usize, usize, u16)>);

pub(super) fn tree(language: &Language, text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar.as_ref().unwrap().language)()).unwrap();
    parser.parse(text, None).unwrap()
}

/// The matches of tree-sitter. Those that differ only in captures for predicates are one match.
fn theirs(query: &tree_sitter::Query, tree: &Tree, text: &str) -> Vec<Match> {
    let mut cursor = QueryCursor::new();
    let mut hits = cursor.matches(query, tree.root_node(), text.as_bytes());
    let mut found = Vec::new();
    while let Some(hit) = hits.next() {
        let captures = hit.captures().iter().map(|capture| {
            let name = query.capture_names()[capture.index as usize].to_owned();
            (name, capture.node.start_byte(), capture.node.end_byte(), capture.node.kind_id())
        });
        let public = captures.filter(|(name, ..)| !name.starts_with('_'));
        found.push((hit.pattern_index, public.collect()));
    }
    sorted(found)
}

/// The matches of this implementation.
fn ours(query: &Query, tree: &Tree, text: &str) -> Vec<Match> {
    let far = Instant::now() + Duration::from_secs(3600);
    let names: Vec<&str> = query.capture_names().collect();
    let nodes = Nodes::new(tree.root_node(), far).unwrap();
    let mut matcher = Matcher::new(query, &nodes, text, far);
    let mut found = Vec::new();
    for at in 0..nodes.len() {
        let before = found.len();
        let in_time = matcher.at(at, &mut |hit| {
            let captures = hit.captured.iter().map(|captured| {
                let (name, node) = (names[usize::from(captured.capture)], nodes.node(captured.at));
                (name.to_owned(), node.start_byte(), node.end_byte(), node.kind_id())
            });
            found.push((hit.pattern, captures.collect()));
        });
        assert!(in_time);
        let here: HashSet<&Match> = found[before..].iter().collect();
        assert_eq!(here.len(), found.len() - before, "a match is reported twice");
    }
    sorted(found)
}

/// Removes duplicates, because alternatives of one pattern may have the same match at different nodes.
fn sorted(mut found: Vec<Match>) -> Vec<Match> {
    found.iter_mut().for_each(|(_, captures)| captures.sort());
    found.sort();
    found.dedup();
    found
}

fn texts(language: &Language) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
    let cases = std::fs::read_to_string(folder.join("facts.cases")).unwrap();
    let mut texts: Vec<String> = cases
        .split("\n=== ")
        .map(|case| {
            let lines = case.lines().skip(1).skip_while(|line| line.starts_with(['+', '-']));
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    texts.push(std::fs::read_to_string(folder.join("sample.txt")).unwrap());
    texts
}

/// Every query of every language, parsed here and compiled by tree-sitter.
fn queries() -> impl Iterator<Item = (&'static Language, Query, tree_sitter::Query)> {
    PARSED.iter().flat_map(|language| {
        let grammar = language.grammar.as_ref().unwrap();
        [grammar.definitions, grammar.facts.text()].map(|text| {
            let handle = (grammar.language)();
            let compiled = tree_sitter::Query::new(&handle, text)
                .unwrap_or_else(|error| panic!("{}: tree-sitter says {error}", language.id));
            (*language, Query::new(&handle, text).unwrap(), compiled)
        })
    })
}

#[test]
fn every_query_finds_what_tree_sitter_finds() {
    for (language, query, compiled) in queries() {
        assert_eq!(query.pattern_count(), compiled.pattern_count(), "{}", language.id);
        // Also test all cases in one text, where each has other siblings.
        let mut texts = texts(language);
        texts.push(texts.join("\n"));
        for text in &texts {
            let tree = tree(language, text);
            let (theirs, ours) = (theirs(&compiled, &tree, text), ours(&query, &tree, text));
            let missed: Vec<_> = theirs.iter().filter(|one| !ours.contains(one)).take(3).collect();
            let added: Vec<_> = ours.iter().filter(|one| !theirs.contains(one)).take(3).collect();
            assert!(
                missed.is_empty() && added.is_empty() && theirs.len() == ours.len(),
                "{}: missed {missed:#?}, added {added:#?} in\n{text}",
                language.id
            );
        }
    }
}

#[test]
fn captures_are_known_by_the_text_alone() {
    for (language, query, _) in queries() {
        let mut known: Vec<&str> = query.capture_names().collect();
        let grammar = language.grammar.as_ref().unwrap();
        let of_text = [grammar.definitions, grammar.facts.text()].map(|text| {
            let mut names = capture_names(text);
            names.sort_unstable();
            names.dedup();
            names
        });
        known.sort_unstable();
        assert!(of_text.contains(&known), "{}", language.id);
    }
}

/// Patterns for Rust that must have the same matches in any text. There are no supertypes among them, because in text with
/// syntax errors this implementation finds more of these (a name left over by error recovery counts as an `_expression`). The
/// test above compares supertypes in the languages' own queries on the samples.
const PATTERNS: &[&str] = &[
    "(block . (_) @first)",
    "(block (_) @last .)",
    "(arguments (identifier) @a (identifier) @b)",
    "(arguments . _ @mark . (_) @a)",
    "(parameters \",\" @comma . (parameter) @after)",
    "(_ \"(\" @open . (_) @inside)",
    "(function_item name: (_) @name !return_type body: (block))",
    "(call_expression function: [(identifier) (field_expression field: (_) @method)] @called)",
    "(block ([(let_declaration) (expression_statement)] @a . (expression_statement) @b))",
    "((let_declaration) @a . (let_declaration) @b)",
    "((identifier) @a (#not-any-of? @a \"a\" \"b\") (#match? @a \"^[a-m]\"))",
    "(binary_expression left: (_) @l right: (_) @r (#not-eq? @l @r))",
    "(block (expression_statement) @_before (let_declaration) @after)",
    "(arguments (identifier) @_a (integer_literal) @b (#eq? @_a \"a\"))",
    "(line_comment)+ @run",
    "(block (line_comment)+ @run)",
    "(block . (line_comment)+ @run)",
    "((line_comment)+ @run . (function_item) @behind)",
    "((function_item) @a . (line_comment)+ @run)",
    "(source_file (line_comment)+ @run . (function_item) @behind)",
    "(source_file (line_comment)+ @run (function_item) @behind)",
    "(block (expression_statement) @a . (line_comment)* . (expression_statement) @b)",
    "(block . (line_comment)* . (expression_statement) @a)",
    "(block \"{\" . [(line_comment) (block_comment)]+ . \"}\") @remarked",
    "(block [(let_declaration) (line_comment)]+ @run)",
    "(call_expression function: (_) @f arguments: (arguments (identifier)? @a))",
    "(function_item parameters: (_) return_type: (_)? @type body: (_) @body)",
    "((let_declaration)+ @run (#match? @run \"a\"))",
];

fn code() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "fn f() ", "fn g(a: u8, b: u8) ", "{", "}", "let a = ", "1", "2", "a", "b", "z", ";\n", "(", ")",
        ", ", "f(", "a.b(", "// say\n", "a + b", "a + a", "if a ", "return ", "=> ", "// x\nfn h() {}\n",
        "(1, a, 2)", "f(a, b, z);\n",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn any_pattern_finds_what_tree_sitter_finds(text in code()) {
        let language = crate::by_name("rust").unwrap();
        let handle = (language.grammar.as_ref().unwrap().language)();
        let tree = tree(language, &text);
        for pattern in PATTERNS {
            let compiled = tree_sitter::Query::new(&handle, pattern).unwrap();
            let query = Query::new(&handle, pattern).unwrap();
            prop_assert_eq!(ours(&query, &tree, &text), theirs(&compiled, &tree, &text), "{} in\n{}", pattern, text);
        }
    }
}
