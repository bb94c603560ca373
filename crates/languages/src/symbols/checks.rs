//! Checks what extractors report, on the samples and on the texts of the facts' cases: each definition has a symbol where its name
//! stands, damaged texts do no harm, and work grows linearly.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::{Expr, FileSymbols, Place, Use, extract, general};
use crate::chunking::chunk_until;
use crate::language::Language;
use crate::stop::Stop;
use crate::syntax::with_outline;
use crate::{ChunkLimits, PARSED, by_name, chunk};

const LIMITS: ChunkLimits = ChunkLimits {
    chars_target: 750,
    chars_max: 1500,
    chunks_max: 2000,
    parse_timeout: Duration::from_secs(600),
    facts: true,
    cells: false,
};

fn read(language: &Language, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
    std::fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// The sample of a language, and the texts of its cases, without what these expect.
fn texts(language: &Language) -> Vec<String> {
    let mut texts = vec![read(language, "sample.txt")];
    for case in read(language, "facts.cases").split("\n=== ").skip(1) {
        let lines = case.lines().skip(1);
        let text = lines.skip_while(|line| line.starts_with(['+', '-', ';'])).collect::<Vec<_>>().join("\n");
        texts.push(text + "\n");
    }
    texts
}

fn places(symbols: &FileSymbols) -> Vec<Place> {
    let all = symbols.interface.symbols.iter().chain(&symbols.body.symbols);
    all.map(|symbol| symbol.place).collect()
}

#[test]
fn each_definition_has_a_symbol_where_its_name_stands() {
    let mut wrong = String::new();
    let mut seen = 0;
    for language in PARSED {
        for text in texts(language) {
            let chunked = chunk(&text, Some(language), &LIMITS);
            let Some(symbols) = chunked.symbols else { continue };
            assert!(symbols.is_sound(), "{}", language.id);
            let places = places(&symbols);
            for definition in chunked.chunks.iter().flat_map(|chunk| &chunk.definitions) {
                let is_handler = definition.name.contains('(');
                if matches!(definition.kind, "impl" | "section") || is_handler {
                    continue;
                }
                seen += 1;
                let place = Place { line: definition.line, column: definition.column };
                if !places.contains(&place) {
                    let Place { line, column } = place;
                    writeln!(wrong, "{} {} at {line}:{column} of\n{text}", language.id, definition.name)
                        .unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(seen > 200, "{seen}");
}

#[test]
fn operators_are_used_where_their_language_has_such_uses() {
    let used = |language: &str, text: &str| {
        let symbols = chunk(text, by_name(language), &LIMITS).symbols.unwrap();
        let arena = &symbols.body.arena;
        let name = |used: &Use| match arena.expr(used.expr) {
            Expr::Name(name) => arena.text(*name).to_owned(),
            Expr::Member(_, name) => format!("?.{}", arena.text(*name)),
            _ => String::new(),
        };
        let is_operator = |name: &String| !name.contains(char::is_alphanumeric) || name.starts_with('?');
        symbols.body.uses.iter().map(name).filter(is_operator).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("f a b = a >< b\n", &["><"][..]),
        ("f a b = (><) a b\n", &["><"]),
        ("f = foldr (><) 0\n", &["><"]),
        ("f = map (>< 1) (map (1 ><) xs)\n", &["><", "><"]),
        ("f a b = a M.>< b\n", &["?.><"]),
        ("f = (><)\n", &["><"]),
        // Neither its definition, nor what says how it binds, nor what every module has.
        ("infixl 6 ><\n(><) :: Int -> Int -> Int\n(><) a b = a\n", &[]),
        ("a >< b = a\n", &[]),
        ("f a b = a == b && not $ g . h $ a\n", &[]),
        // One of its own.
        ("f a = a >< 1 where\n  x >< y = y\n", &[]),
        ("f a = a >< 1 where\n  (><) x y = y\n", &[]),
    ] {
        assert_eq!(used("haskell", text), expected, "{text}");
    }
    assert!(used("elixir", "defmodule A do\n  def f(a), do: a ~> 1\nend\n").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_texts_have_sound_symbols(
        at in 0..PARSED.len(), from in 0.0..1.0f64, length in 0usize..100,
        insert in prop_oneof!["[ -~\n]{0,40}", "[{}()\\[\\];:.,]", " (impl|func|class|fun|def) ", "\u{0}", "é<"],
    ) {
        let sample: Vec<char> = texts(PARSED[at]).concat().chars().take(6000).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "a position within a short text")]
        let from = (sample.len() as f64 * from) as usize;
        let to = (from + length).min(sample.len());
        let damaged: String = sample[..from].iter().copied().chain(insert.chars()).chain(sample[to..].iter().copied()).collect();
        let chunked = chunk(&damaged, Some(PARSED[at]), &LIMITS);
        assert!(chunked.symbols.is_none_or(|symbols| symbols.is_sound()), "{}", PARSED[at].id);
    }
}

/// A text with a part that is repeated.
struct Repeated {
    language: &'static str,
    start: &'static str,
    part: &'static str,
    /// The text that closes a part, if each part is nested in the one before.
    close: &'static str,
    end: &'static str,
}

const fn flat(
    language: &'static str,
    start: &'static str,
    part: &'static str,
    end: &'static str,
) -> Repeated {
    nested(language, start, part, "", end)
}

const fn nested(
    language: &'static str,
    start: &'static str,
    part: &'static str,
    close: &'static str,
    end: &'static str,
) -> Repeated {
    Repeated { language, start, part, close, end }
}

const REPEATED: &[Repeated] = &[
    flat("c", "int f(void) { return a", ".b(1)", "; }\n"),
    flat("c", "#define A(x) ", "f(x) + ", "1\n"),
    flat("c", "struct a *", "*", "b;\n"),
    flat("c", "void f(void) {\n", "int a; { int a; a = b[a]; }\n", "}\n"),
    flat("c", "int a", ", b = (1)", ";\n"),
    flat("cpp", "namespace a", "::b", " { }\n"),
    flat("cpp", "void f() { ", "a::b<c>(d->e()); auto [g, h] = i; ", "}\n"),
    flat("cpp", "class A : public B", ", public ns::C<D>", " { };\n"),
    flat("cpp", "", "void a::b::c() { this->d(e(), f{}, new G(1)); }\n", ""),
    flat("cpp", "a::", "b<a::", "b;\n"),
    flat("ruby", "x = a", ".b(1)", "\n"),
    flat("ruby", "class A\n", "attr_accessor :b, :c\ndef d; @e ||= F.new; @e.g { |h| h.i }; end\n", "end\n"),
    flat("ruby", "", "@a = b || c || ", "1\n"),
    flat("php", "<?php $x = $a", "->b(1)", ";\n"),
    flat("php", "<?php class A { ", "public $b; function c() { $this->b = new D(); $this->b->e(); } ", "}\n"),
    flat("php", "<?php $x = ", "$a ?: ", "1;\n"),
    flat("lua", "", "local a = b.c(d)\nfunction e(f) f.g = a end\n", ""),
    flat("bash", "", "a() { b=$c; d \"$b\"; }\n", ""),
    flat("elixir", "defmodule A do\n", "def b(c), do: d(c)\n", "end\n"),
    flat("go", "package a\nfunc f() { x", ".a(1)", " }\n"),
    nested("go", "package a\nfunc f() { ", "func() { x := y; g(x); ", " }()", " }\n"),
    nested("go", "package a\nvar x = [][]T", "{{a: b}, ", "}", "\n"),
    flat("rust", "fn f() { x", ".a(|y| y.b())?", " }\n"),
    nested("rust", "fn f() { ", "if let Some(x) = y { g(x); ", " }", " }\n"),
    nested("rust", "use ", "a::{b, ", "}", ";\n"),
    nested("rust", "fn f() { m!(", "g(a.b, ", ")", ") }\n"),
    nested("rust", "", "mod a { fn f() { super::g() } ", "}", "\n"),
];

/// The steps that the symbols of a text take, without those of its outline and its facts, and how many rows they have.
fn size(text: &str, language: &str) -> [u64; 2] {
    let language = by_name(language).unwrap();
    let grammar = language.grammar.as_ref().unwrap();
    let stop = Stop::new(LIMITS.parse_timeout, &|| false);
    let size = with_outline(text, language, grammar, &stop, |outline, nodes| {
        let items = crate::facts::items(text, grammar.facts().unwrap(), nodes, &stop).unwrap();
        let before = stop.steps();
        let symbols = match grammar.symbols {
            Some(_) => {
                extract(grammar.symbols, (text, outline.marks), nodes.node(0), &stop).unwrap().unwrap()
            }
            None => general::extract(outline, &items, &stop).unwrap(),
        };
        assert!(symbols.is_sound(), "{}", language.id);
        [stop.steps() - before, rows(&symbols) as u64]
    });
    size.unwrap()
}

fn rows(FileSymbols { interface, body, .. }: &FileSymbols) -> usize {
    let outer = interface.symbols.len() + interface.imports.len() + interface.arena.exprs.len();
    let inner = body.symbols.len() + body.imports.len() + body.arena.exprs.len();
    outer + inner + body.uses.len()
}

#[test]
fn work_and_rows_grow_linearly() {
    let mut wrong = Vec::new();
    for Repeated { language, start, part, close, end } in REPEATED {
        let size = |n: usize| size(&format!("{start}{}{}{end}", part.repeat(n), close.repeat(n)), language);
        // Nested parts are not seen to any depth.
        for n in [50, 200] {
            for (what, (few, many)) in ["steps", "rows"].iter().zip(size(n).into_iter().zip(size(4 * n))) {
                if many > 5 * few {
                    wrong.push(format!("{language} {part:?}: {few} to {many} {what} at {n}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A text that is twice as long may take a little more than twice the steps, in each language.
#[test]
fn work_grows_with_the_text() {
    for language in PARSED {
        let text = texts(language).concat();
        let steps = |times: usize| {
            let stop = Stop::new(LIMITS.parse_timeout, &|| false);
            drop(chunk_until(&text.repeat(times), Some(language), &LIMITS, &stop));
            stop.steps()
        };
        let (four, eight) = (steps(4), steps(8));
        assert!(eight < 3 * four, "{}: {four} to {eight} steps", language.id);
    }
}
