//! Tests of highlighting: every query, the rules of colours, arbitrary texts, the limits.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use streaming_iterator::StreamingIterator;
use tree_sitter::QueryCursor;

use super::capture::{Mark, mark};
use super::*;
use crate::{PARSED, by_name};

const LIMITS: HighlightLimits = HighlightLimits { bytes_max: 1024 * 1024, timeout: Duration::from_secs(60) };

/// The coloured parts of a text, as words.
fn coloured<'t>(language: &str, text: &'t str) -> Vec<(&'t str, Highlight)> {
    let spans = highlight(by_name(language).unwrap(), text, &LIMITS);
    spans.iter().map(|span| (&text[span.start..span.end], span.highlight)).collect()
}

fn sample(language: &Language) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(language.id);
    std::fs::read_to_string(folder.join("sample.txt")).unwrap()
}

/// The id of a language, a text, and some of its parts with their colours.
type Case = (&'static str, &'static str, &'static [(&'static str, Highlight)]);

/// A text for each language.
#[rustfmt::skip]
const CASES: &[Case] = &[
    ("bash", "# say\nif ls; then echo \"a\"; fi\n", &[("# say", Highlight::Comment), ("if", Highlight::Keyword), ("\"a\"", Highlight::String), ("echo", Highlight::Function)]),
    ("c", "/* say */ return \"a\";", &[("/* say */", Highlight::Comment), ("return", Highlight::Keyword), ("\"a\"", Highlight::String)]),
    ("cpp", "// say\nclass A { int f() { throw \"a\"; } };", &[("// say", Highlight::Comment), ("class", Highlight::Keyword), ("throw", Highlight::Keyword), ("A", Highlight::Type), ("\"a\"", Highlight::String)]),
    ("csharp", "// say\nclass A { void F() { G(\"a\"); } }", &[("// say", Highlight::Comment), ("class", Highlight::Keyword), ("G", Highlight::Function), ("\"a\"", Highlight::String)]),
    ("css", "/* say */ @media print { p { content: \"a\"; } }", &[("/* say */", Highlight::Comment), ("@media", Highlight::Keyword), ("p", Highlight::Tag), ("content", Highlight::Property), ("\"a\"", Highlight::String)]),
    ("elixir", "# say\ndef f(a) when a > 1 do\n  \"a\"\nend\n", &[("# say", Highlight::Comment), ("def", Highlight::Keyword), ("f", Highlight::Function), ("when", Highlight::Keyword), ("1", Highlight::Number), ("\"a\"", Highlight::String)]),
    ("go", "// say\nfunc f() string { return \"a\" }", &[("// say", Highlight::Comment), ("func", Highlight::Keyword), ("f", Highlight::Function), ("string", Highlight::Type), ("\"a\"", Highlight::String)]),
    ("haskell", "-- say\nf :: Int -> String\nf x = if True then \"a\" else g 1\n", &[("-- say", Highlight::Comment), ("f", Highlight::Function), ("Int", Highlight::Type), ("if", Highlight::Keyword), ("True", Highlight::Constant), ("\"a\"", Highlight::String), ("g", Highlight::Function), ("1", Highlight::Number)]),
    ("html", "<!-- say --><a href=\"b\">c</a>", &[("<!-- say -->", Highlight::Comment), ("a", Highlight::Tag), ("href", Highlight::Attribute), ("b", Highlight::String)]),
    ("java", "// say\n@Deprecated class A { String f() { return \"a\\n\"; } }", &[("// say", Highlight::Comment), ("Deprecated", Highlight::Attribute), ("class", Highlight::Keyword), ("A", Highlight::Type), ("\\n", Highlight::Escape), ("\"a", Highlight::String)]),
    ("javascript", "// say\nconst a = <p title=\"b\">{f('c')}</p>;", &[("// say", Highlight::Comment), ("const", Highlight::Keyword), ("p", Highlight::Tag), ("title", Highlight::Attribute), ("\"b\"", Highlight::String), ("f", Highlight::Function)]),
    ("json", "{\"a\": \"b\", \"c\": [1, true]}", &[("\"a\"", Highlight::Property), ("\"b\"", Highlight::String), ("1", Highlight::Number), ("true", Highlight::Constant)]),
    ("kotlin", "// say\n@Test fun f(a: Int): Boolean { if (a.size == 1) { g(\"a${a}\\n\") }; return true }", &[("// say", Highlight::Comment), ("@Test", Highlight::Attribute), ("fun", Highlight::Keyword), ("f", Highlight::Function), ("Int", Highlight::Type), ("if", Highlight::Keyword), ("size", Highlight::Property), ("1", Highlight::Number), ("g", Highlight::Function), ("\"a", Highlight::String), ("\\n", Highlight::Escape), ("return", Highlight::Keyword), ("true", Highlight::Constant)]),
    ("lua", "-- say\nlocal a = \"b\" or self", &[("-- say", Highlight::Comment), ("local", Highlight::Keyword), ("\"b\"", Highlight::String), ("or", Highlight::Keyword), ("self", Highlight::Keyword)]),
    ("markdown", "# Title\n\n    code\n", &[("Title", Highlight::Heading), ("    code\n", Highlight::String)]),
    ("php", "<?php // say\nclass A { function f() { return 'a'; } }", &[("// say", Highlight::Comment), ("class", Highlight::Keyword), ("A", Highlight::Type), ("f", Highlight::Function), ("'a'", Highlight::String)]),
    ("python", "# say\ndef f(): return not 'a'", &[("# say", Highlight::Comment), ("def", Highlight::Keyword), ("f", Highlight::Function), ("not", Highlight::Keyword), ("'a'", Highlight::String)]),
    ("ruby", "# say\ndef f(a); :b; 'a'; end", &[("# say", Highlight::Comment), ("def", Highlight::Keyword), ("f", Highlight::Function), (":b", Highlight::Constant), ("'a'", Highlight::String)]),
    ("rust", "// say\n#[test]\nfn f<'a>() -> u8 { A_B + 1; vec![\"a\"] }", &[("// say", Highlight::Comment), ("test", Highlight::Attribute), ("fn", Highlight::Keyword), ("f", Highlight::Function), ("u8", Highlight::Type), ("A_B", Highlight::Constant), ("1", Highlight::Number), ("vec!", Highlight::Function), ("\"a\"", Highlight::String)]),
    ("scala", "// say\nobject A { def f = \"a\" }", &[("// say", Highlight::Comment), ("object", Highlight::Keyword), ("A", Highlight::Type), ("f", Highlight::Function), ("\"a\"", Highlight::String)]),
    ("sql", "-- say\nSELECT 1, 'a' FROM t;", &[("-- say", Highlight::Comment), ("SELECT", Highlight::Keyword), ("1", Highlight::Number), ("'a'", Highlight::String), ("t", Highlight::Type)]),
    ("swift", "// say\nfunc f() -> Int { return g(\"a\") }", &[("// say", Highlight::Comment), ("func", Highlight::Keyword), ("f", Highlight::Function), ("Int", Highlight::Type), ("\"a\"", Highlight::String)]),
    ("toml", "# say\n[a.b]\nc.d = \"e\"\nf = 1\n", &[("# say", Highlight::Comment), ("a.b", Highlight::Type), ("c.d", Highlight::Property), ("f", Highlight::Property), ("\"e\"", Highlight::String), ("1", Highlight::Number)]),
    ("tsx", "// say\ninterface A { b: string }\nconst c = <p title=\"d\" />;", &[("// say", Highlight::Comment), ("interface", Highlight::Keyword), ("const", Highlight::Keyword), ("A", Highlight::Type), ("b", Highlight::Property), ("p", Highlight::Tag), ("\"d\"", Highlight::String)]),
    ("typescript", "// say\ninterface A { b: string }\nconst c = f('d');", &[("// say", Highlight::Comment), ("interface", Highlight::Keyword), ("const", Highlight::Keyword), ("string", Highlight::Type), ("f", Highlight::Function), ("'d'", Highlight::String)]),
    ("yaml", "# say\na: \"b\"\nc: 1\n", &[("# say", Highlight::Comment), ("a", Highlight::Property), ("\"b\"", Highlight::String), ("1", Highlight::Number)]),
    ("zig", "// say\nconst a: ?u8 = b orelse f(\"c\");", &[("// say", Highlight::Comment), ("const", Highlight::Keyword), ("u8", Highlight::Type), ("orelse", Highlight::Keyword), ("f", Highlight::Function), ("\"c\"", Highlight::String)]),
];

#[test]
fn every_language_with_a_grammar_is_coloured() {
    assert_eq!(
        CASES.iter().map(|(id, ..)| *id).collect::<Vec<_>>(),
        PARSED.iter().map(|l| l.id).collect::<Vec<_>>()
    );
    for (id, text, expected) in CASES {
        let grammar = by_name(id).unwrap().grammar.as_ref().unwrap();
        assert_eq!(queries::error(id, grammar), None, "the query of {id}");
        let found = coloured(id, text);
        for part in *expected {
            assert!(found.contains(part), "{id}: {part:?} is not among {found:?}");
        }
    }
}

/// A node: its first byte, one past its last, its kind.
type Place = (usize, usize, String);

fn place(node: tree_sitter::Node<'_>) -> Place {
    (node.start_byte(), node.end_byte(), node.kind().to_owned())
}

/// For each node that some pattern captures: the strongest mark, by tree-sitter's own engine.
fn theirs(
    text: &str,
    grammar: &crate::grammar::Grammar,
    root: tree_sitter::Node<'_>,
    query: &str,
) -> BTreeMap<Place, Mark> {
    let query = tree_sitter::Query::new(&(grammar.language)(), query).unwrap();
    let mut cursor = QueryCursor::new();
    let mut hits = cursor.matches(&query, root, text.as_bytes());
    let mut marks = BTreeMap::new();
    while let Some(hit) = hits.next() {
        for capture in hit.captures() {
            let name = query.capture_names()[capture.index as usize];
            let Some(mark) = mark(name) else { continue };
            let mark = mark.of(&text[capture.node.byte_range()], !capture.node.is_named());
            let known = marks.entry(place(capture.node)).or_insert(mark);
            *known = (*known).max(mark);
        }
    }
    marks
}

#[test]
fn the_same_nodes_are_coloured_as_by_tree_sitter() {
    for language in PARSED {
        let (text, grammar) = (sample(language), language.grammar.as_ref().unwrap());
        let compiled = queries::compiled(language.id, grammar).unwrap();
        let stop = Stop::new(LIMITS.timeout, &|| false);
        let (ours, theirs) = tree::with_nodes(&text, grammar, &stop, |nodes| {
            let marks = paint::marks(&text, compiled, nodes, &stop);
            let ours = (0..).zip(marks).filter_map(|(at, mark)| Some((place(nodes.node(at)), mark?)));
            let text_of_query = queries::text(language.id).unwrap();
            (ours.collect::<BTreeMap<_, _>>(), theirs(&text, grammar, nodes.node(0), &text_of_query))
        })
        .unwrap();
        assert!(ours.len() > 10, "{}", language.id);
        let missed: Vec<_> = theirs.iter().filter(|one| ours.get(one.0) != Some(one.1)).collect();
        // tree-sitter overlooks the second of three nodes in one field, and this pattern of Scala has such a field.
        let overlooked = |place: &Place| language.id == "scala" && text[place.0..].starts_with("concurrent.");
        let added = ours.iter().filter(|one| theirs.get(one.0) != Some(one.1) && !overlooked(one.0));
        let added: Vec<_> = added.collect();
        assert!(missed.is_empty() && added.is_empty(), "{}: missed {missed:?}, added {added:?}", language.id);
    }
}

#[test]
fn a_capture_is_known_by_the_longest_name_that_fits() {
    let colour = |name| match mark(name) {
        Some(Mark::Colour(highlight)) => Some(highlight),
        _ => None,
    };
    for (name, expected) in [
        ("function", Highlight::Function),
        ("function.method.builtin", Highlight::Function),
        ("type.builtin", Highlight::Type),
        ("type.qualifier", Highlight::Keyword),
        ("string", Highlight::String),
        ("string.special.key", Highlight::Property),
        ("string.special.symbol", Highlight::Constant),
        ("string.special", Highlight::String),
        ("variable.member", Highlight::Property),
        ("variable.builtin", Highlight::Keyword),
        ("keyword.conditional.ternary", Highlight::Keyword),
    ] {
        assert_eq!(colour(name), Some(expected), "{name}");
    }
    for name in ["variable", "variable.parameter", "punctuation.bracket", "embedded", "none"] {
        assert_eq!(mark(name), Some(Mark::Plain), "{name}");
    }
    // A part ends at a dot.
    assert_eq!((mark("types"), mark("_name"), mark("")), (None, None, None));
}

#[test]
fn classes_are_short_and_listed_in_order() {
    assert!(Highlight::ALL.is_sorted());
    let mut names = Highlight::ALL.map(Highlight::as_str).to_vec();
    assert!(
        names
            .iter()
            .all(|name| (2..=4).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase()))
    );
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Highlight::ALL.len());
}

#[test]
fn inner_nodes_are_painted_over_outer_ones() {
    let found = coloured("javascript", "`a ${b + 'c'}\\n d`");
    let (string, escape) = (Highlight::String, Highlight::Escape);
    // The code inside is not the string's; parts of a string that touch are one.
    assert_eq!(found, [("`a ", string), ("'c'", string), ("\\n", escape), (" d`", string)]);
    assert_eq!(coloured("json", "{\"a\\n\": 1}")[..2], [("\"a", Highlight::Property), ("\\n", escape)]);
}

#[test]
fn symbols_and_variables_have_no_colour() {
    assert_eq!(coloured("python", "a = (b + c) in d"), [("in", Highlight::Keyword)]);
    // A condition's `?` and `:` are keywords to the query of Swift, and braces constructors to that of Lua.
    assert_eq!(coloured("swift", "a ? b : c"), []);
    assert_eq!(coloured("lua", "a = {}"), []);
    // It is unknown which names are local variables.
    assert_eq!(coloured("ruby", "a = 1\nb = a\n"), [("1", Highlight::Number)]);
}

#[test]
fn what_is_too_long_or_takes_too_long_has_no_colour() {
    let (rust, text) = (by_name("rust").unwrap(), "fn f() {}\n".repeat(2000));
    let of = |bytes_max, timeout| highlight(rust, &text, &HighlightLimits { bytes_max, timeout }).len();
    let minute = Duration::from_secs(60);
    assert_eq!(of(text.len(), minute), 4000);
    assert_eq!(of(text.len() - 1, minute), 0);
    assert_eq!(of(text.len(), Duration::ZERO), 0);
    let long = "\n".repeat(PARSED_BYTES_MAX) + "fn";
    assert_eq!(highlight(rust, &long, &HighlightLimits { bytes_max: usize::MAX, timeout: minute }), []);
    // The parser looks at the clock itself.
    let late = Stop::new(Duration::ZERO, &|| false);
    assert!(crate::syntax::parse(&text, rust.grammar.as_ref().unwrap(), &late).is_err());
    // The time limit passes after the tree was built.
    let (grammar, late) = (rust.grammar.as_ref().unwrap(), Stop::new(Duration::ZERO, &|| false));
    let compiled = queries::compiled("rust", grammar).unwrap();
    let in_time = Stop::new(minute, &|| false);
    let spans =
        tree::with_nodes(&text, grammar, &in_time, |nodes| paint::spans(&text, compiled, nodes, &late))
            .unwrap();
    assert!(!spans.is_empty() && spans.len() < 4000, "{} spans of the beginning", spans.len());
    assert_sound(&text, &spans);
}

/// The parser releases its stack by recursion where the grammar is ambiguous at every level.
#[test]
fn an_ambiguous_nest_does_not_overflow_the_stack() {
    let text = "{ a: ".repeat(30_000);
    assert_sound(&text, &highlight(by_name("javascript").unwrap(), &text, &LIMITS));
}

#[test]
fn languages_without_a_grammar_and_texts_that_crash_a_scanner_have_no_colour() {
    assert_eq!(coloured("dockerfile", "FROM a\n"), []);
    assert_eq!(coloured("bash", "echo {1..🦀}"), []);
}

#[test]
fn lines_are_cut_at_their_ends() {
    let text = "/* é\r\n\r\nb */ x\n\ny\r";
    let comment = HighlightedSpan { start: 0, end: text.find(" x").unwrap(), highlight: Highlight::Comment };
    let name = HighlightedSpan { start: text.len() - 2, end: text.len(), highlight: Highlight::Function };
    let lines: Vec<_> = by_line(text, &[comment, name]).collect();
    let found: Vec<_> =
        lines.iter().map(|line| (line.text, line.ending, line.pieces().collect::<Vec<_>>())).collect();
    let (comment, name) = (Some(Highlight::Comment), Some(Highlight::Function));
    let expected = [
        ("/* é", "\r\n", vec![("/* é", comment)]),
        ("", "\r\n", vec![]),
        ("b */ x", "\n", vec![("b */", comment), (" x", None)]),
        ("", "\n", vec![]),
        ("y\r", "", vec![("y\r", name)]),
    ];
    assert_eq!(found, expected);
    assert_eq!(lines[2].spans, [(0..4, Highlight::Comment)]);
    assert_eq!(by_line("", &[]).count(), 0);
}

#[test]
fn spans_of_another_text_do_not_panic() {
    let spans = [(9, 4), (0, 1000), (5, 6), (2, 3)].map(|(start, end)| HighlightedSpan {
        start,
        end,
        highlight: Highlight::Tag,
    });
    for line in by_line("é\nab\n\ncd", &spans) {
        let _ = line.pieces().count();
    }
}

/// Asserts what [`highlight`] and [`by_line`] promise.
fn assert_sound(text: &str, spans: &[HighlightedSpan]) {
    let mut last: Option<&HighlightedSpan> = None;
    for span in spans {
        assert!(span.start < span.end && text.get(span.start..span.end).is_some(), "{span:?} in {text:?}");
        if let Some(last) = last {
            assert!(
                last.end < span.start || (last.end == span.start && last.highlight != span.highlight),
                "{last:?}, {span:?}"
            );
        }
        last = Some(span);
    }
    let (mut joined, mut at) = (String::new(), 0);
    for line in by_line(text, spans) {
        let pieces: String = line.pieces().map(|(piece, _)| piece).collect();
        assert_eq!(pieces, line.text);
        for (range, highlight) in &line.spans {
            let of = |span: &HighlightedSpan| {
                span.start <= at + range.start && at + range.end <= span.end && span.highlight == *highlight
            };
            assert!(
                range.start < range.end && range.end <= line.text.len() && spans.iter().any(of),
                "{range:?}"
            );
        }
        at += line.text.len() + line.ending.len();
        joined = joined + line.text + line.ending;
    }
    assert_eq!(joined, text);
}

/// Languages for arbitrary texts. Not Kotlin, whose grammar may take minutes for them.
const ANY_TEXT: [&str; 9] =
    ["bash", "c", "haskell", "markdown", "php", "python", "rust", "typescript", "yaml"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spans_of_arbitrary_text_are_sound(text in "(?s).{0,300}") {
        for id in ANY_TEXT {
            assert_sound(&text, &highlight(by_name(id).unwrap(), &text, &LIMITS));
        }
    }

    #[test]
    fn spans_of_damaged_samples_are_sound(
        id in prop::sample::select(&ANY_TEXT[..]), from in 0.0..1.0f64, length in 0usize..200, insert in "(?s).{0,20}",
        windows in any::<bool>(),
    ) {
        let language = by_name(id).unwrap();
        let sample = sample(language);
        let chars: Vec<char> = if windows { sample.replace('\n', "\r\n") } else { sample }.chars().collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss,
            reason = "a position within a short sample")]
        let from = (chars.len() as f64 * from) as usize;
        let to = (from + length).min(chars.len());
        let damaged: String = chars[..from].iter().copied().chain(insert.chars()).chain(chars[to..].iter().copied()).collect();
        assert_sound(&damaged, &highlight(language, &damaged, &LIMITS));
    }

    #[test]
    fn nodes_on_any_bytes_are_painted_on_whole_characters(
        text in "(?s).{0,40}", nodes in prop::collection::vec((0usize..60, 0usize..60, 0usize..12), 0..12),
    ) {
        let mut nodes: Vec<_> = nodes.into_iter().map(|(start, length, at)| (start, start + length, at)).collect();
        nodes.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
        let marks = nodes.into_iter().map(|(start, end, at)| (start, end, Mark::Colour(Highlight::ALL[at])));
        assert_sound(&text, &paint::painted(&text, marks));
    }
}
