//! Checks where the names of definitions stand that are written with what they belong to, `double Circle::area()`, and what the own
//! name of an expression means: `const a = function b() { b() }`.

use super::symbols::Expr;
use super::{ChunkLimits, by_name, chunk};

/// A text, and the definitions that it has: line, column, simple and qualified name.
type Case = (&'static str, &'static str, &'static [(u32, u32, &'static str, &'static str)]);

const CASES: &[Case] = &[
    ("cpp", "double Circle::area() { }\n", &[(1, 16, "area", "Circle::area")]),
    ("cpp", "Circle::~Circle() { }\n", &[(1, 9, "~Circle", "Circle::~Circle")]),
    ("cpp", "int a::B::operator==(B b) { }\n", &[(1, 11, "operator==", "a::B::operator==")]),
    ("cpp", "template <class T> T Box<a::b>::get() { }\n", &[(1, 33, "get", "Box<a::b>::get")]),
    ("cpp", "void\nCircle\n  ::draw() { }\n", &[(3, 5, "draw", "Circle ::draw")]),
    ("cpp", "namespace a::b { }\n", &[(1, 14, "b", "a::b")]),
    ("cpp", "struct A::B { int c; };\n", &[(1, 11, "B", "A::B")]),
    ("cpp", "template <> struct hash<my::Key> { };\n", &[(1, 20, "hash<my::Key>", "hash<my::Key>")]),
    ("c", "int *f(void) { }\n", &[(1, 6, "f", "f")]),
    ("csharp", "namespace A.B { class D { } }\n", &[(1, 13, "B", "A.B"), (1, 23, "D", "A.B.D")]),
    ("elixir", "defmodule A.B do\nend\n", &[(1, 13, "B", "A.B")]),
    ("kotlin", "fun `is 1.5`() = 2\n", &[(1, 5, "is 1.5", "is 1.5")]),
    ("lua", "function a.b:c() end\n", &[(1, 14, "c", "a.b.c")]),
    ("ruby", "class A::B\n  def A.y = 2\nend\n", &[(1, 10, "B", "A::B"), (2, 9, "y", "A::B::y")]),
    ("ruby", "module ::A; end\n", &[(1, 10, "A", "::A")]),
    ("rust", "impl a::B<c::D> { fn e() {} }\n", &[(1, 9, "B", "a::B"), (1, 22, "e", "a::B::e")]),
    ("swift", "extension A.B { func x() {} }\n", &[(1, 13, "B", "A.B"), (1, 22, "x", "A.B.x")]),
    ("typescript", "namespace A.B { }\n", &[(1, 13, "B", "A.B")]),
    ("typescript", "declare module '../..' { }\n", &[]),
    ("typescript", "class K { 'a.b'() {} }\n", &[(1, 7, "K", "K"), (1, 11, "a.b", "K.a.b")]),
];

#[test]
fn a_qualified_name_stands_where_its_last_part_does() {
    for (language, text, expected) in CASES {
        let chunked = chunk(text, by_name(language), &ChunkLimits::default());
        let symbols = chunked.symbols.unwrap();
        let all = symbols.interface.symbols.iter().chain(&symbols.body.symbols);
        let places: Vec<_> = all.map(|symbol| (symbol.place.line, symbol.place.column)).collect();
        let named: Vec<_> = chunked.chunks.iter().flat_map(|chunk| &chunk.definitions).collect();
        let found = named.iter().map(|one| (one.line, one.column, one.name.as_str(), one.qualified.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), *expected, "{text}");
        for one in named.iter().filter(|one| one.kind != "impl") {
            assert!(places.contains(&(one.line, one.column)), "{} of {text}: {places:?}", one.name);
        }
    }
}

#[test]
fn the_own_name_of_an_expression_is_known_inside_of_it_alone() {
    let cases: [(&str, &[u32]); 5] = [
        ("function f() {}\nconst g = function f() {\n  f();\n};\nf();\n", &[5]),
        ("function f() {}\nrun(function f() {\n  f();\n});\nf();\n", &[5]),
        ("class f {}\nconst g = class f {\n  m() { new f(); }\n};\nnew f();\n", &[5]),
        // The name of the variable, too, is that of the function.
        ("const f = function f() {\n  f();\n};\nf();\n", &[2, 4]),
        ("class f {\n  m = function f() {\n    f();\n  };\n}\nnew f();\n", &[6]),
    ];
    for language in ["javascript", "typescript", "tsx"] {
        for (text, expected) in cases {
            let symbols = chunk(text, by_name(language), &ChunkLimits::default()).symbols.unwrap();
            let arena = &symbols.body.arena;
            let named = |expr| matches!(arena.expr(expr), Expr::Name(name) if arena.text(*name) == "f");
            let uses = symbols.body.uses.iter().filter(|used| named(used.expr));
            assert_eq!(uses.map(|used| used.place.line).collect::<Vec<_>>(), expected, "{language} {text}");
        }
    }
}
