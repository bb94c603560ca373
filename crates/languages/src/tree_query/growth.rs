//! Tests that the cost of matching grows at most linearly with the number of siblings in a tree.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::oracle::tree;
use super::shape::{Kind, NodeItem, Slot};
use super::{Matcher, Nodes, Query};
use crate::facts::Field;
use crate::{ChunkLimits, ChunkingMethod, PARSED, by_name, chunk};

/// Repetitions of a part in the smaller text; the larger text has four times as many.
const SIBLINGS_IN_TEXT: usize = 1000;
/// Siblings in the smaller tree that is generated for a pattern; the larger tree has four times as many.
const SIBLINGS_IN_GENERATED_TREE: usize = 150;
/// Largest growth of the cost with four times as many siblings.
const GROWTH_MAX: u64 = 5;

/// Languages with parts of a text: start, first repeated part, middle, second repeated part, end.
const REPEATED: &[(&str, [&str; 5])] = &[
    ("cpp", ["class A {\n", "int a;\n", "", "", "};\n"]),
    ("cpp", ["class A {\n", "// said\n", "", "", "};\n"]),
    ("cpp", ["class A {\n", "int a; // said\n", "protected:\n", "void b();\n", "};\n"]),
    ("cpp", ["class A {\n", "private: int a;\n", "protected:\n", "void b();\n", "};\n"]),
    (
        "cpp",
        ["void f() { try { } catch (E &e) {\n", "// said\n", "} }\nvoid g() {\n", "return; f();\n", "}\n"],
    ),
    ("cpp", ["void f() {\n", "a = a;\n", "static static int", " b(),", " c();\n}\n"]),
    ("ruby", ["class A\n", "private\n", "", "def b;end\n", "end\n"]),
    ("ruby", ["class A\n", "private\ndef a;end\n", "protected\n", "def b;end\n", "end\n"]),
    ("ruby", ["def a\n", "return\nb\n", "begin\n", "b\nrescue E\nend\nbegin\n", "end\nend\n"]),
    ("python", ["", "# said\n", "\"\"\"Told.\"\"\"\n", "# said\n", "a = 1\n"]),
    ("python", ["try:\n  a()\nexcept E:\n", "  # said\n", "  pass\n", "  # said\n", "a = 1\n"]),
    ("python", ["def a():\n", "  return\n", "", "  b()\n", "a = 1\n"]),
    ("python", ["__all__ = [", "\"a\",", "]\ndef a(", "b, c=[],", "d): pass\n"]),
    ("javascript", ["function a() {\n", "return\n", "", "// said\n", "b()\n}\n"]),
    ("javascript", ["try {} catch (e) {\n", "// said\n", "}\n", "throw a; b()\n", ""]),
    ("javascript", ["a.get('/b', ", "'c', ", "", "() => { d() }, ", "e)\n"]),
    ("javascript", ["export const {", "a, ", "} = b, [", "c, ", "d] = e\n"]),
    ("typescript", ["function a() { switch (b) { case 1:\n", "break;\n", "", "// said\n", "b() } }\n"]),
    ("typescript", ["class A {\n", "private b: C = 1;\n", "", "static async d(e: F) {}\n", "}\n"]),
    ("java", ["class A { void a() {\n", "return;\n", "", "// said\n", "b(); } }\n"]),
    ("java", ["class A { void a() { try { } catch (E e) {\n", "/* said */\n", "} } }\n", "", ""]),
    ("kotlin", ["fun a() { try { } catch (e: E) {\n", "// said\n", "} }\nclass A : B, C<D>", ", E<F>", "\n"]),
    ("php", ["<?php try { } catch (E $e) {\n", "// said\n", "}\nfunction f() {\n", "return; g();\n", "}\n"]),
    ("swift", ["func a() { do { } catch {\n", "// said\n", "} }\nclass A: B", ", C", " { }\n"]),
    (
        "rust",
        ["fn a() { match b { Err(_) => {\n", "// said\n", "} } }\nimpl A for B {\n", "fn c() {}\n", "}\n"],
    ),
    ("rust", ["fn a() { vec![", "b(c), ", "]; let (", "d, ", "e) = f; }\n"]),
    ("csharp", ["class A { void a() { try { } catch {\n", "// said\n", "} } int ", "b = new(), ", "c; }\n"]),
    ("zig", ["fn a() void { b() catch {\n", "// said\n", "}; switch (c) {\n", "1 => |d| {},\n", "} }\n"]),
    ("go", ["package a\nconst ", "b, ", "c = ", "1, ", "2\n"]),
    ("go", ["package a\nvar ", "_, ", "c D\nfunc f() {\n", "return; g()\n", "}\n"]),
    ("scala", ["class A extends B", " with C", " {\n", "@D private val e = 1\n", "}\n"]),
    ("elixir", ["defmodule A do\n", "@doc \"said\"\n", "", "def b(c), do: d\n", "end\n"]),
    ("haskell", ["a = do\n", "  b\n", "", "  when c $ d e\n", ""]),
    ("lua", ["a", ", b", " = 1", ", 2", "\n"]),
    ("bash", ["for a in ", "b ", "; do\n", "return; c\n", "done\n"]),
    ("sql", ["CREATE TABLE a (b int", ", c text", "); INSERT INTO a (b", ", c", ") VALUES (1);\n"]),
    ("css", ["a {\n", "animation: b", " c", " d", "; }\n"]),
    ("html", ["<p ", "id=\"a\" ", ">", "<link href=\"b\">", "</p>\n"]),
    (
        "json",
        ["{\"extends\": [", "\"a\", ", "\"b\"], \"dependencies\": {", "\"c\": \"d\", ", "\"e\": \"f\"}}\n"],
    ),
    ("yaml", ["extends:\n", "  - a\n", "", "b: c\n", ""]),
    ("toml", ["[dependencies]\n", "a = 1\n", "[dev-dependencies]\n", "b = 2\n", ""]),
    ("markdown", ["# a\n", "\n[b]: c\n", "", "\n## d\n", ""]),
];

fn text(parts: &[&str; 5], siblings: usize) -> String {
    let [start, first_repeated, middle, second_repeated, end] = parts;
    [*start, &first_repeated.repeat(siblings), middle, &second_repeated.repeat(siblings), end].concat()
}

/// Returns the steps of both queries of a language on a text.
fn steps(language: &str, text: &str) -> u64 {
    let language = by_name(language).unwrap();
    let grammar = language.grammar.as_ref().unwrap();
    let tree = tree(language, text);
    let deadline = Instant::now() + Duration::from_secs(60);
    let nodes = Nodes::new(tree.root_node(), deadline).unwrap();
    let mut steps = 0;
    for query in [grammar.definitions, grammar.facts.text()] {
        let query = Query::new(&(grammar.language)(), query).unwrap();
        let mut matcher = Matcher::new(&query, &nodes, text, deadline);
        for at in 0..nodes.len() {
            assert!(matcher.at(at, &mut |_| {}), "{}: timed out", language.id);
        }
        steps += matcher.steps();
    }
    steps
}

#[test]
fn cost_grows_linearly_with_siblings() {
    let mut failures = Vec::new();
    for (language, parts) in REPEATED {
        let [few, many] =
            [SIBLINGS_IN_TEXT, 4 * SIBLINGS_IN_TEXT].map(|siblings| steps(language, &text(parts, siblings)));
        if many > GROWTH_MAX * few {
            failures.push(format!("{language}: {few} to {many} steps for {parts:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn long_classes_keep_their_facts() {
    let method = |at: usize| {
        format!("  /// Sets it.\n  /// It is then shown.\n  void set{at}(int value, bool quiet);\n")
    };
    let field = |at: usize| format!("  int value{at} = 0;\n");
    let methods: String = (0..350).map(method).collect();
    let fields: String = (0..350).map(field).collect();
    let documented = format!("class Widget {{\npublic:\n{methods}private:\n{fields}}};\n");
    let tokens = "private\n".repeat(4000);
    let paired = format!("class A\n{tokens}{}end\n", "def b;end\n".repeat(4000));
    let texts = [
        ("cpp", format!("class A {{\n{}}};\n", "int a;\n".repeat(4000))),
        ("cpp", format!("class A {{\n{}int a;\n}};\n", "//\n".repeat(14_000))),
        ("cpp", documented),
        ("ruby", paired),
    ];
    for (language, text) in texts {
        let chunked = chunk(&text, by_name(language), &ChunkLimits::default());
        assert_eq!((chunked.how, chunked.facts_missing), (ChunkingMethod::Syntax, None), "{language}");
        let is_private = |chunk: &crate::Chunk| chunk.facts.has(Field::Visibility, "private");
        assert!(chunked.chunks.iter().any(is_private), "{language}: no chunk is private");
    }
}

/// The number of children that a generated node has for each slot, and their order.
#[derive(Debug, Clone, Copy)]
enum Repeat {
    /// Many children for the first slot, then many for the second, and so on.
    InOrder,
    /// One child for each slot, and this sequence many times.
    Mixed,
    /// Many children for the slot with this index, and one for each other slot.
    OneSlot(usize),
    /// Like `InOrder`, but without children for the last slot.
    LastMissing,
}

/// The position of a node in a pattern: on each level the index of a slot and of an alternative.
type PatternPath = Vec<(usize, usize)>;

/// Collects the paths of the nodes whose children have several slots or a repeatable one.
fn repeatable_lists(slots: &[Slot], path: &PatternPath, found: &mut Vec<PatternPath>) {
    if slots.len() > 1 || slots.iter().any(|slot| slot.many) {
        found.push(path.clone());
    }
    for (at, slot) in slots.iter().enumerate() {
        for (alternative, node) in slot.nodes.iter().enumerate() {
            let path = path.iter().copied().chain([(at, alternative)]).collect();
            repeatable_lists(&node.children, &path, found);
        }
    }
}

/// Writes the properties that determine how slots are matched: patterns with the same key take the same steps.
fn write_matching_key(slots: &[Slot], kinds: &mut Vec<u16>, key: &mut String) {
    for slot in slots {
        let (is_captured, first_suffices) = (slot.is_captured, slot.first_suffices);
        write!(key, "({},{},{is_captured},{first_suffices}", slot.optional, slot.many).unwrap();
        for node in &slot.nodes {
            let mut number = |kind: u16| {
                kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                })
            };
            match &node.kind {
                Kind::Any => key.push_str("[any"),
                Kind::Named => key.push_str("[named"),
                Kind::Is(kind) => write!(key, "[is {}", number(*kind)).unwrap(),
                Kind::Of(kinds) => {
                    let numbers: Vec<usize> = kinds.iter().map(|kind| number(*kind)).collect();
                    write!(key, "[of {numbers:?}").unwrap();
                }
            }
            let (field, without) = (node.field, &node.without);
            let (captures, anchored, last) = (node.captures.len(), node.anchored, node.last);
            write!(key, ",{field},{without:?},{captures},{anchored},{last}").unwrap();
            write_matching_key(&node.children, kinds, key);
            key.push(']');
        }
        key.push(')');
    }
}

/// A generated tree in which the children of one node of a pattern are repeated.
struct GeneratedTree<'g> {
    /// The kind of nodes for wildcards.
    named: u16,
    repeat: Repeat,
    siblings: usize,
    /// The path of the node whose children are repeated.
    path: &'g [(usize, usize)],
    /// Depth, kind and field of each node.
    nodes: Vec<(usize, u16, u16)>,
}

impl GeneratedTree<'_> {
    /// Adds a node with its children. `level` is the node's level in the path; `None` if the node is not on it.
    fn add_node(&mut self, item: &NodeItem, depth: usize, level: Option<usize>) {
        let kind = match &item.kind {
            Kind::Any | Kind::Named => self.named,
            Kind::Is(kind) => *kind,
            Kind::Of(kinds) => kinds[0],
        };
        self.nodes.push((depth, kind, item.field));
        self.add_children(&item.children, depth + 1, level);
    }

    /// Adds a child for each slot, or repeated children at the end of the path.
    fn add_children(&mut self, slots: &[Slot], depth: usize, level: Option<usize>) {
        if level.is_some_and(|level| level == self.path.len()) {
            return self.add_repeated(slots, depth);
        }
        for (at, slot) in slots.iter().enumerate() {
            let on_path = level.filter(|level| self.path[*level].0 == at);
            let alternative = on_path.map_or(0, |level| self.path[level].1);
            self.add_node(&slot.nodes[alternative], depth, on_path.map(|level| level + 1));
        }
    }

    fn add_repeated(&mut self, slots: &[Slot], depth: usize) {
        let (siblings, repeat) = (self.siblings, self.repeat);
        let mut add = |slot: usize, count: usize| {
            let nodes = &slots[slot].nodes;
            (0..count).for_each(|at| self.add_node(&nodes[at % nodes.len()], depth, None));
        };
        match repeat {
            Repeat::InOrder => (0..slots.len()).for_each(|slot| add(slot, siblings)),
            Repeat::Mixed => (0..siblings).for_each(|_| (0..slots.len()).for_each(|slot| add(slot, 1))),
            Repeat::OneSlot(repeated_slot) => {
                (0..slots.len()).for_each(|slot| add(slot, if slot == repeated_slot { siblings } else { 1 }))
            }
            Repeat::LastMissing => (0..slots.len() - 1).for_each(|slot| add(slot, siblings)),
        }
    }
}

#[test]
fn cost_of_every_pattern_grows_linearly() {
    let (mut failures, mut lists_seen, mut tested) = (Vec::new(), 0, HashSet::new());
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let handle = (grammar.language)();
        let named = (1..)
            .find(|kind| handle.node_kind_is_named(*kind) && handle.node_kind_is_visible(*kind))
            .unwrap();
        let tree = tree(language, "a");
        for text in [grammar.definitions, grammar.facts.text()] {
            let mut query = Query::new(&handle, text).unwrap();
            // All nodes of a generated tree have the same text, so predicates on texts are removed.
            for pattern in &mut query.patterns {
                pattern.predicates.clear();
                pattern.slots.iter_mut().for_each(|slot| slot.each_node(&mut |node| node.tests.clear()));
            }
            for (number, pattern) in query.patterns.iter().enumerate() {
                let mut paths = Vec::new();
                repeatable_lists(&pattern.slots, &PatternPath::new(), &mut paths);
                for path in paths {
                    lists_seen += 1;
                    let mut key = format!("{path:?}");
                    write_matching_key(&pattern.slots, &mut Vec::new(), &mut key);
                    if !tested.insert(key) {
                        continue;
                    }
                    let repeats = [
                        Repeat::InOrder,
                        Repeat::Mixed,
                        Repeat::LastMissing,
                        Repeat::OneSlot(0),
                        Repeat::OneSlot(1),
                    ];
                    for repeat in repeats {
                        let sizes = [SIBLINGS_IN_GENERATED_TREE, 4 * SIBLINGS_IN_GENERATED_TREE];
                        let [few, many] = sizes.map(|siblings| {
                            let nodes = vec![(0, named, 0)];
                            let mut generated = GeneratedTree { named, repeat, siblings, path: &path, nodes };
                            generated.add_children(&pattern.slots, 1, Some(0));
                            let nodes = Nodes::artificial(tree.root_node(), &generated.nodes);
                            let deadline = Instant::now() + Duration::from_secs(60);
                            let mut matcher = Matcher::new(&query, &nodes, "a", deadline);
                            for at in 0..nodes.len() {
                                assert!(matcher.one(number as u16, at, &mut |_| {}), "timed out");
                            }
                            assert!(
                                matcher.held_max() < 200 * generated.nodes.len() + 20_000,
                                "too many partial matches are kept"
                            );
                            matcher.steps()
                        });
                        if many > GROWTH_MAX * few {
                            let id = language.id;
                            failures.push(format!(
                                "{id} {number}: {few} to {many} steps for {repeat:?} at {path:?}"
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(lists_seen > 500, "{lists_seen}");
    assert!(failures.is_empty(), "{failures:#?}");
}
