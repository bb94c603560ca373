//! Tests of exact search: its trigrams never exclude a match, and its lines are those of a search line by line.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use regex::RegexBuilder;
use store::{GramQuery, gram, grams_of};

use super::lines::{MatchedLine, matched_lines};
use super::pattern::{Pattern, Scan};
use contract::ErrorCode;

fn lines(pattern: &Pattern, text: &str) -> Vec<MatchedLine> {
    matched_lines(pattern, text, 1, &Scan::default())
}

fn numbers(pattern: &str, text: &str) -> Vec<u32> {
    lines(&Pattern::regex(pattern, true).unwrap(), text).iter().map(|line| line.line).collect()
}

/// Searches line by line: returns number, column and length of the first match of each line.
fn oracle(pattern: &str, exact_case: bool, text: &str) -> Vec<(u32, u32, u32)> {
    let regex = RegexBuilder::new(pattern).case_insensitive(!exact_case).build().unwrap();
    let count = |text: &str| u32::try_from(text.chars().count()).unwrap();
    (1..)
        .zip(text.split('\n'))
        .filter_map(|(number, line)| {
            let found = regex.find(line.strip_suffix('\r').unwrap_or(line))?;
            Some((number, count(&line[..found.start()]) + 1, count(found.as_str())))
        })
        .collect()
}

#[test]
fn lines_are_matched_one_by_one() {
    let text = "let a = 1;\n\n  b(\r\n\tc)\nend";
    assert_eq!(numbers("^$", text), [2]);
    assert_eq!(numbers("\\($", text), [3], "a carriage return is part of the line end");
    assert_eq!(numbers("\\s", text), [1, 3, 4], "white space does not match line ends");
    assert_eq!(numbers("\\([^x]+\\)", text), [] as [u32; 0]);
    assert_eq!(numbers("\\Aend\\z", text), [5], "the ends of a text are those of a line");
    let found = lines(&Pattern::regex("[cé]\\)", true).unwrap(), "äé)é)\nx");
    assert_eq!((found[0].line, found[0].column, found[0].length), (1, 2, 2));
    let last = lines(&Pattern::regex("^$", true).unwrap(), "foo\r");
    assert_eq!(last, [], "the last line of a chunk has lost its line feed");
}

#[test]
fn a_pattern_with_line_ends_spans_lines() {
    let text = "fn a(\n  b,\n) {\n}\nfn c() {\n}";
    for pattern in ["(?s)fn a\\(.*?\\{", "fn a\\([^)]*\\n\\) \\{", "a\\([\\s\\S]*?\\{"] {
        let pattern = Pattern::regex(pattern, true).unwrap();
        let found = lines(&pattern, text);
        assert!(pattern.spans_lines());
        assert_eq!(
            (found.len(), found[0].line, found[0].end_line, found[0].text.as_str()),
            (1, 1, Some(3), "fn a(")
        );
    }
    let literal = Pattern::text("}\nfn", true).unwrap();
    assert_eq!(lines(&literal, "a\n}\r\nfn c")[0].end_line, Some(3), "Windows' line ends match too");
    assert!(!Pattern::regex("a\\s+[^b]", true).unwrap().spans_lines());
}

#[test]
fn a_literal_keeps_its_white_space_and_punctuation() {
    let pattern = Pattern::text("  a.b(*c)->d  ", true).unwrap();
    let found = lines(&pattern, "x  a.b(*c)->d  y\n a.b(*c)->d");
    assert_eq!((found.len(), found[0].column, found[0].length), (1, 2, 14));
    assert_eq!(lines(&Pattern::text("ABC", false).unwrap(), "xabc").len(), 1);
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let text = format!("{}needle{}", "é".repeat(5_000), "x".repeat(5_000));
    let found = lines(&Pattern::text("needle", true).unwrap(), &text).remove(0);
    assert_eq!((found.column, found.length, found.text_column), (5_001, 6, Some(4_921)));
    assert!(found.text.chars().count() == 300 && found.text.contains("needle"));
    let start = lines(&Pattern::text("é", true).unwrap(), &text).remove(0);
    assert_eq!((start.column, start.text_column), (1, None));
}

#[test]
fn hostile_patterns_are_refused_or_bounded() {
    let classes = format!(
        "[{}]",
        (0..10_000_u32)
            .filter_map(|at| char::from_u32(0x4E00 + 2 * at))
            .map(|c| format!("{c}-{c}"))
            .collect::<String>()
    );
    let nested_classes = format!("{}a{}", "[".repeat(5_000), "]".repeat(5_000));
    for pattern in
        ["(a+)+$", "(a|aa)*b", "(.*)*x", "\\w+\\w+\\w+\\w+!", classes.as_str(), "a\\x00b", "[^a]*[^b]*c"]
    {
        let pattern = Pattern::regex(pattern, false).unwrap();
        lines(&pattern, &format!("{}\n{}c!", "a".repeat(20_000), "aab".repeat(10_000)));
    }
    let large = Pattern::regex("\\w{60,}!$|^x{3}", true).unwrap();
    assert_eq!(lines(&large, &format!("xxx\n{}!\nyyy", "w".repeat(70))).len(), 2, "matched line by line");
    let groups = format!("{}a{}", "(".repeat(2_000), ")".repeat(2_000));
    for (pattern, says) in [
        ("a(?=b)", "look-around"),
        ("(?<!a)b", "look-around"),
        ("(a)\\1", "backreferences"),
        ("a**{9}{9}{9}{9}{9}{9}(", "unclosed"),
        ("(", "unclosed"),
        ("[a", "unclosed"),
        ("\\pX", "Unicode"),
        ("", "every line"),
        ("a*", "every line"),
        ("(x|)", "every line"),
        (groups.as_str(), "nest"),
        (nested_classes.as_str(), "nest"),
        ("((((a{90}){90}){90}){90}){90}", "too large"),
        ("\\pL{800}\\pL{800}\\pL{800}", "too large"),
    ] {
        let fault = Pattern::regex(pattern, true).unwrap_err();
        assert_eq!(fault.code, ErrorCode::InvalidRequest);
        assert!(fault.message.contains(says) && fault.hint.is_some(), "{says}: {fault}");
    }
}

fn all(text: &[u8]) -> Vec<i16> {
    let mut grams: Vec<i16> = text.windows(3).map(|window| gram([window[0], window[1], window[2]])).collect();
    grams.sort_unstable();
    grams
}

#[test]
fn patterns_give_the_trigrams_that_their_matches_have() {
    let query = |pattern: &str| Pattern::regex(pattern, false).unwrap().grams().clone();
    let has = |text: &str| GramQuery::HasAll(all(text.as_bytes()));
    assert_eq!(query("\\.qux\\("), has(".qux("));
    assert_eq!(
        query("foo.*bar"),
        GramQuery::HasAll({
            let mut grams = [all(b"foo"), all(b"bar")].concat();
            grams.sort_unstable();
            grams
        })
    );
    assert_eq!(query("(xyzzy)+"), has("xyzzy"));
    assert!(
        query("\\w+\\s\\d").is_everything()
            && query("ab").is_everything()
            && query("foo|\\w").is_everything()
    );
    // Three letters are enough with alternatives, optional parts, repetitions and letters with other case forms.
    for pattern in ["TODO|FIXME|XXX", "colou?r", "[abc]xy", "a{3}", "kiss", "(in|out)put", "x(yz)?w0"] {
        assert!(!query(pattern).is_everything(), "{pattern}");
    }
    assert!(!query("TODO|FIXME|XXX").accepts(&grams_of("fixe todx xx")));
    assert!(query("colou?r").accepts(&grams_of("COLOR")) && !query("colou?r").accepts(&grams_of("colxr")));
    assert!(query("kiss").accepts(&grams_of("\u{212a}i\u{17f}\u{17f}")), "the Kelvin sign and the long s");
}

/// Patterns of pieces, with texts that they often match.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = select(
        &[
            "a", "b", "ab", "foo", "Bar", "\\.", "[abk]", "[^a]", "\\w", ".", "s", "K", "é", "x?", "\\s",
            "\\b", "^", "$", "1",
        ][..],
    );
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            (inner.clone(), select(&["*", "+", "?", "{2}", "{1,3}", "{3,}"][..]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            inner.prop_map(|part| format!("(?i:{part})")),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    vec(
        select(
            &[
                "a", "b", "ab", "foo", "BAR", "bar", ".", "k", "\u{212a}", "s", "\u{17f}", "é", "É", "x",
                " ", "1", "\n", "\r\n", "_",
            ][..],
        ),
        0..40,
    )
    .prop_map(|parts| parts.concat())
}

#[test]
fn a_match_that_ends_with_a_line_end_leaves_the_next_line() {
    let text = "short\nshort\nother\nshort\r\nshort";
    assert_eq!(numbers("short\\n", text), [1, 2]);
    assert_eq!(numbers("short\\r?\\n", text), [1, 2, 4]);
    let found = lines(&Pattern::regex("short\\n", true).unwrap(), text);
    assert_eq!(
        found.iter().map(|line| line.end_line).collect::<Vec<_>>(),
        [None, None],
        "both are of one line"
    );
    let two = lines(&Pattern::regex("other\\nshort\\r?\\n", true).unwrap(), text);
    assert_eq!((two[0].line, two[0].end_line), (3, Some(4)));
}

#[test]
fn a_written_line_feed_matches_across_lines_in_any_form() {
    for pattern in
        ["3(;|,|\\n)", "3[;,\\n]", "3[\\n\\t]", "3\\x0a", "3(?:;|,|\\r?\\n)", "3[\\s\\S]", "(?s)3."]
    {
        let compiled = Pattern::regex(pattern, true).unwrap();
        assert!(compiled.spans_lines(), "{pattern}");
        assert_eq!(numbers(pattern, "z = 3\nend"), [1], "{pattern}");
    }
    for pattern in ["3\\s", "3[^a]", "3[^\\n]", "3\\W", "3[\\x00-\\x7f]"] {
        assert!(!Pattern::regex(pattern, true).unwrap().spans_lines(), "{pattern}");
        assert_eq!(numbers(pattern, "z = 3\nend"), [0; 0], "{pattern}");
    }
}

#[test]
fn only_a_pattern_that_matches_every_line_is_refused() {
    for useful in ["^\\W*$", "^[^#]*$", "^.?$", "^(.{0,3})$", "^[^\"]*$", "^.{0,200}$", "^$", "^[a-z]*$"] {
        assert!(Pattern::regex(useful, true).is_ok(), "{useful}");
    }
    for useless in ["", "a*", ".*", "^", "$", "(x|)", "^.*$", "\\w?"] {
        let refused = Pattern::regex(useless, true).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest, "{useless}");
    }
}

#[test]
fn a_line_that_is_too_long_for_a_pattern_is_passed_over() {
    let (long, scan) = ("ab".repeat(100_000), Scan::default());
    let pattern = Pattern::regex("a[a-z]{3000}c", true).unwrap();
    let text = format!("{long}\na{}c\n{long}", "b".repeat(3000));
    let found = matched_lines(&pattern, &text, 1, &scan);
    assert_eq!(found.iter().map(|line| line.line).collect::<Vec<_>>(), [2]);
    assert_eq!(scan.too_long.into_inner(), 2);
    let whole = Scan::default();
    assert_eq!(matched_lines(&Pattern::regex("a[a-z]{300}", true).unwrap(), &text, 1, &whole).len(), 3);
    assert_eq!(whole.too_long.into_inner(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn no_match_is_excluded_by_its_trigrams(pattern in patterns(), text in texts(), exact_case: bool) {
        let Ok(compiled) = Pattern::regex(&pattern, exact_case) else { return Ok(()) };
        if !lines(&compiled, &text).is_empty() {
            prop_assert!(compiled.grams().accepts(&grams_of(&text)), "{} in {:?}: {:?}", pattern, text, compiled.grams());
        }
    }

    #[test]
    fn lines_are_those_of_a_search_line_by_line(pattern in patterns(), text in texts(), exact_case: bool) {
        let Ok(compiled) = Pattern::regex(&pattern, exact_case) else { return Ok(()) };
        // Classes that contain everything together are one class of all characters.
        prop_assume!(!compiled.spans_lines());
        // Texts are compared in composed form; the mapping of places back to the original has tests of its own.
        let (pattern, text) = (languages::nfc(&pattern), languages::nfc(&text));
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let found: Vec<_> = lines(&compiled, text).iter().map(|line| (line.line, line.column, line.length)).collect();
        prop_assert_eq!(found, oracle(&pattern, exact_case, text), "{} in {:?}", pattern, text);
    }

    #[test]
    fn any_pattern_is_compiled_or_refused(pattern in "\\PC{0,60}", text in texts()) {
        if let Ok(compiled) = Pattern::regex(&pattern, false) {
            lines(&compiled, &text);
        }
        if let Ok(literal) = Pattern::text(&pattern, true) {
            // The lines around it are control characters, which no pattern of this strategy holds.
            let found = lines(&literal, &format!("\u{1}\n{pattern}\n\u{2}"));
            prop_assert_eq!(found.first().map(|line| line.line), Some(2));
        }
    }
}
