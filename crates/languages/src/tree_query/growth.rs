//! Tests that the cost of matching grows at most linearly with the number of nodes, whatever siblings a tree has.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::oracle::tree;
use super::shape::{Kind, NodeItem, Slot};
use super::{Matcher, Nodes, Query};
use crate::facts::Field;
use crate::{ChunkLimits, How, PARSED, by_name, chunk};

/// Siblings of the smaller text; the larger one has four times as many.
const SIBLINGS: usize = 1000;
/// The same where trees are made for each pattern.
const GROWN: usize = 150;
/// Largest growth of the cost with four times as many siblings.
const GROWTH_MAX: u64 = 5;

/// Language, and the parts of a text: start, first repeated part, middle, second repeated part, end.
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
    let [front, one, between, other, behind] = parts;
    [*front, &one.repeat(siblings), between, &other.repeat(siblings), behind].concat()
}

/// Steps of both queries of a language on a text.
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
            assert!(matcher.at(at, &mut |_| {}), "{}: it took too long", language.id);
        }
        steps += matcher.steps();
    }
    steps
}

#[test]
fn cost_grows_linearly_with_siblings() {
    let mut wrong = Vec::new();
    for (language, parts) in REPEATED {
        let [few, many] = [SIBLINGS, 4 * SIBLINGS].map(|siblings| steps(language, &text(parts, siblings)));
        if many > GROWTH_MAX * few {
            wrong.push(format!("{language}: {few} to {many} for {parts:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
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
        ("cpp", format!("class A {{\n{}}};\n", "int a;\n".repeat(4000)), Field::Visibility, "private"),
        ("cpp", format!("class A {{\n{}int a;\n}};\n", "//\n".repeat(14_000)), Field::Visibility, "private"),
        ("cpp", documented, Field::Visibility, "private"),
        ("ruby", paired, Field::Visibility, "private"),
    ];
    for (language, text, field, value) in texts {
        let chunked = chunk(&text, by_name(language), &ChunkLimits::default());
        assert_eq!((chunked.how, chunked.facts_missing), (How::Syntax, None), "{language}");
        let has = |chunk: &crate::Chunk| chunk.facts.has(field, value);
        assert!(chunked.chunks.iter().any(has), "{language}: nothing is {value}");
    }
}

/// How the children of a node are repeated.
#[derive(Debug, Clone, Copy)]
enum Repeat {
    /// All that fit the first slot, then all that fit the second.
    InTurn,
    /// One for each slot, again and again.
    Mixed,
    /// Those of one slot only.
    One(usize),
    /// Those of the first slot, and nothing for the last.
    Unfinished,
}

/// The place of a node in a pattern: slots and alternatives.
type Path = Vec<(usize, usize)>;

/// The lists with several slots or repetitions, by the node that they are in.
fn lists(slots: &[Slot], path: &Path, found: &mut Vec<Path>) {
    if slots.len() > 1 || slots.iter().any(|slot| slot.many) {
        found.push(path.clone());
    }
    for (at, slot) in slots.iter().enumerate() {
        for (one, node) in slot.nodes.iter().enumerate() {
            let path = path.iter().copied().chain([(at, one)]).collect();
            lists(&node.children, &path, found);
        }
    }
}

/// The properties of slots that determine how they are matched: patterns with equal properties take the same steps.
fn shape(slots: &[Slot], kinds: &mut Vec<u16>, text: &mut String) {
    for slot in slots {
        let (is_captured, first_suffices) = (slot.is_captured, slot.first_suffices);
        write!(text, "({},{},{is_captured},{first_suffices}", slot.optional, slot.many).unwrap();
        for node in &slot.nodes {
            let kind = if let Kind::Is(kind) = node.kind { kind } else { 0 };
            let known = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            write!(text, "[{known},{},{},{}", node.captures.len(), node.anchored, node.last).unwrap();
            shape(&node.children, kinds, text);
            text.push(']');
        }
        text.push(')');
    }
}

/// A tree in which a pattern matches.
struct Grown<'g> {
    named: u16,
    repeat: Repeat,
    siblings: usize,
    /// Where siblings are repeated.
    path: &'g [(usize, usize)],
    nodes: Vec<(usize, u16, u16)>,
}

impl Grown<'_> {
    fn node(&mut self, item: &NodeItem, depth: usize, place: Option<usize>) {
        let kind = match &item.kind {
            Kind::Any | Kind::Named => self.named,
            Kind::Is(kind) => *kind,
            Kind::Of(kinds) => kinds[0],
        };
        self.nodes.push((depth, kind, item.field));
        self.list(&item.children, depth + 1, place);
    }

    /// `place` is the depth in the path, if this list is on it.
    fn list(&mut self, slots: &[Slot], depth: usize, place: Option<usize>) {
        if place.is_some_and(|place| place == self.path.len()) {
            return self.repeated(slots, depth);
        }
        for (at, slot) in slots.iter().enumerate() {
            let on_path = place.filter(|place| self.path[*place].0 == at);
            let one = on_path.map_or(0, |place| self.path[place].1);
            self.node(&slot.nodes[one], depth, on_path.map(|place| place + 1));
        }
    }

    fn repeated(&mut self, slots: &[Slot], depth: usize) {
        let (siblings, repeat) = (self.siblings, self.repeat);
        let mut some = |slot: usize, count: usize| {
            let nodes = &slots[slot].nodes;
            (0..count).for_each(|at| self.node(&nodes[at % nodes.len()], depth, None));
        };
        match repeat {
            Repeat::InTurn => (0..slots.len()).for_each(|slot| some(slot, siblings)),
            Repeat::Mixed => (0..siblings).for_each(|_| (0..slots.len()).for_each(|slot| some(slot, 1))),
            Repeat::One(one) => {
                (0..slots.len()).for_each(|slot| some(slot, if slot == one { siblings } else { 1 }));
            }
            Repeat::Unfinished => (0..slots.len() - 1).for_each(|slot| some(slot, siblings)),
        }
    }
}

#[test]
fn cost_of_every_pattern_grows_linearly() {
    let (mut wrong, mut lists_seen, mut shapes) = (Vec::new(), 0, HashSet::new());
    for language in PARSED {
        let grammar = language.grammar.as_ref().unwrap();
        let handle = (grammar.language)();
        let named = (1..)
            .find(|kind| handle.node_kind_is_named(*kind) && handle.node_kind_is_visible(*kind))
            .unwrap();
        let tree = tree(language, "a");
        for text in [grammar.definitions, grammar.facts.text()] {
            let mut query = Query::new(&handle, text).unwrap();
            // All nodes have the same text, so predicates must not matter.
            for pattern in &mut query.patterns {
                pattern.predicates.clear();
                pattern.slots.iter_mut().for_each(|slot| slot.each_node(&mut |node| node.tests.clear()));
            }
            for (number, pattern) in query.patterns.iter().enumerate() {
                let mut found = Vec::new();
                lists(&pattern.slots, &Path::new(), &mut found);
                for path in found {
                    lists_seen += 1;
                    let mut shaped = format!("{path:?}");
                    shape(&pattern.slots, &mut Vec::new(), &mut shaped);
                    if !shapes.insert(shaped) {
                        continue;
                    }
                    let repeats =
                        [Repeat::InTurn, Repeat::Mixed, Repeat::Unfinished, Repeat::One(0), Repeat::One(1)];
                    for repeat in repeats {
                        let [few, many] = [GROWN, 4 * GROWN].map(|siblings| {
                            let nodes = vec![(0, named, 0)];
                            let mut grown = Grown { named, repeat, siblings, path: &path, nodes };
                            grown.list(&pattern.slots, 1, Some(0));
                            let nodes = Nodes::made(tree.root_node(), &grown.nodes);
                            let deadline = Instant::now() + Duration::from_secs(60);
                            let mut matcher = Matcher::new(&query, &nodes, "a", deadline);
                            for at in 0..nodes.len() {
                                assert!(matcher.one(number as u16, at, &mut |_| {}), "it took too long");
                            }
                            assert!(
                                matcher.held_max() < 200 * grown.nodes.len() + 20_000,
                                "it holds too much"
                            );
                            matcher.steps()
                        });
                        if many > GROWTH_MAX * few {
                            let id = language.id;
                            wrong.push(format!("{id} {number}: {few} to {many} for {repeat:?} at {path:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(lists_seen > 500, "{lists_seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
