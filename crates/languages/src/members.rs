//! Checks that constants of enums and methods without a body of their own are listed, and change nothing else.

use super::{ChunkLimits, by_name, chunk};

/// A text with members, their kind and qualified names, and what its only chunk defines besides.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const CASES: &[Case] = &[
    ("c", "enum e {\n    ONE,\n    TWO = 2\n};\n", "variable", &["e.ONE", "e.TWO"], &["e"]),
    ("c", "enum {\n    ONE\n};\n", "variable", &["ONE"], &[]),
    ("cpp", "enum class E { One, Two };\n", "variable", &["E::One", "E::Two"], &["E"]),
    ("csharp", "enum E { One, Two = 2 }\n", "variable", &["E.One", "E.Two"], &["E"]),
    (
        "go",
        "package a\n\ntype I interface {\n\tOne(x int) error\n\tTwo()\n}\n",
        "method",
        &["I.One", "I.Two"],
        &["I"],
    ),
    ("java", "enum E { ONE(1), TWO { void f() { } }; }\n", "variable", &["E.ONE", "E.TWO"], &["E", "f"]),
    (
        "kotlin",
        "enum class E {\n    ONE,\n    TWO { override fun f() = 1 };\n}\n",
        "variable",
        &["E.ONE", "E.TWO"],
        &["E", "f"],
    ),
    (
        "kotlin",
        "class A(val one: Int, private var two: B<C>, other: Int)\n",
        "variable",
        &["A.one", "A.two"],
        &["A"],
    ),
    ("php", "<?php\nenum E {\n    case One;\n    case Two;\n}\n", "variable", &["E::One", "E::Two"], &["E"]),
    ("ruby", "class A\n  attr_reader :one, :two\nend\n", "method", &["A::one", "A::two"], &["A"]),
    (
        "ruby",
        "class A\n  alias one b\n  alias_method :two, :b\nend\n",
        "method",
        &["A::one", "A::two"],
        &["A"],
    ),
    ("rust", "enum E {\n    One,\n    Two(u8),\n}\n", "variable", &["E::One", "E::Two"], &["E"]),
    ("scala", "enum E:\n  case One\n  case Two(x: Int)\n", "variable", &["E.One", "E.Two"], &["E"]),
    ("swift", "enum E {\n    case one, two(Int)\n}\n", "variable", &["E.one", "E.two"], &["E"]),
    ("typescript", "enum E { One, Two = 2 }\n", "variable", &["E.One", "E.Two"], &["E"]),
    ("tsx", "enum E { One, Two = 2 }\n", "variable", &["E.One", "E.Two"], &["E"]),
];

#[test]
fn members_are_listed_and_no_more_than_that() {
    for (language, text, kind, expected, defines) in CASES {
        let chunked = chunk(text, by_name(language), &ChunkLimits::default());
        let symbols = chunked.symbols.unwrap();
        let all = symbols.interface.symbols.iter().chain(&symbols.body.symbols);
        let places: Vec<_> = all.map(|symbol| (symbol.place.line, symbol.place.column)).collect();
        let [only] = chunked.chunks.as_slice() else { panic!("several chunks of {text}") };
        let members = only.definitions.iter().filter(|one| !defines.contains(&one.name.as_str()));
        let members: Vec<_> = members.collect();
        let names: Vec<_> = members.iter().map(|one| one.qualified.as_str()).collect();
        assert_eq!(names, *expected, "{language} {text}");
        for member in members {
            assert_eq!(member.kind, *kind, "{language} {text}");
            assert!(places.contains(&(member.line, member.column)), "{} of {text}: {places:?}", member.name);
            assert_eq!(member.facts, [], "{text}");
        }
        assert_eq!(only.defines, *defines, "{language} {text}");
        assert_eq!(only.name.as_deref(), defines.first().copied(), "{language} {text}");
    }
}

#[test]
fn a_constant_can_be_used_where_its_enum_can() {
    for (text, expected) in [("pub enum E {\n    One,\n}\n", true), ("enum E {\n    One,\n}\n", false)] {
        let chunked = chunk(text, by_name("rust"), &ChunkLimits::default());
        let exported: Vec<_> = chunked.chunks[0].definitions.iter().map(|one| one.exported).collect();
        assert_eq!(exported, [Some(expected); 2], "{text}");
    }
    let text = "class A(private val one: Int)\n";
    let chunked = chunk(text, by_name("kotlin"), &ChunkLimits::default());
    assert_eq!(chunked.chunks[0].definitions[1].exported, None);
}
