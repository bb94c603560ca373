//! Every line, and no other: compared with a search of the files line by line, and with ripgrep where it is installed.

use std::process::Command;

use regex::RegexBuilder;
use serde_json::json;

use super::{Line, grep, indexed, lines, sources};
use crate::filters::shop::index;
use crate::harness::{app, app_with};

/// Patterns over the sources of this program. Each is searched with and without case.
const PATTERNS: &[&str] = &[
    // Literals of letters, of punctuation, and both.
    "TODO|FIXME|XXX",
    "pub(super) fn ",
    "->",
    "::",
    "#\\[derive\\(",
    "\\*\\*",
    "=> \\{",
    "&&",
    "//!",
    "/// ",
    "\\?;$",
    "^}$",
    "^\\s+\\}$",
    "é",
    "…",
    // Classes, repetitions, alternatives.
    "fn \\w+\\(&self",
    "async fn \\w+",
    "(let|const) [A-Z_]{4,}",
    "[0-9]{3,}",
    "\\b\\w{24,}\\b",
    "(in|out)put",
    "colou?r",
    "s+ession",
    "(ab|bc|cd)+e",
    "Vec<(\\w+)>",
    "\"[^\"]{40,}\"",
    "impl(<[^>]*>)? \\w+ for",
    "if let Some\\(.*\\) = .*&&",
    "\\.await\\?",
    "x{2}",
    "[aeiou]{5}",
    "(?i)select .* from",
    "(?-i)Fault",
    "\\d+_\\d+",
    "[^[:ascii:]]",
    "^use (std|super)::",
    "\\)\\s*->\\s*Result<",
    "a.c.e",
    "(fn|struct|enum) (Chunk|File)\\w*",
    "error\\b.*\\berror",
    // Nothing, or hardly anything.
    "zzqqzz",
    "\\x00",
    "q[^u]\\w",
    "(foo|bar)baz",
    ".{140}",
    "^$x",
    "\\t",
];

/// The lines that a search of the files finds, one line after the other.
fn oracle(files: &[(String, String)], pattern: &str, case: bool) -> Vec<Line> {
    let regex = RegexBuilder::new(pattern).case_insensitive(!case).build().unwrap();
    let chars = |text: &str| text.chars().count() as u64;
    let mut found = Vec::new();
    for (path, text) in files {
        for (line, number) in text.split('\n').zip(1..) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if let Some(matched) = regex.find(line) {
                let column = chars(&line[..matched.start()]) + 1;
                found.push((path.clone(), number, column, chars(matched.as_str()), line.to_owned()));
            }
        }
    }
    found
}

/// Files with what sources seldom have.
fn odd_files() -> Vec<(String, String)> {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    vec![
        file("odd/windows.py", "def order():\r\n    return 1000_000\r\n\r\nclass Session:\r\n    pass\r\n"),
        file("odd/no_end.rs", "fn last() -> u8 {\n    7\n}\n// TODO: no line feed at the end"),
        file("odd/accents.md", "# Café\n\nÉté… naïve café, ſession and \u{212a}elvin\n\n\n\n    \nEnd.\n"),
        file("odd/tabs.go", "package odd\n\n\n\nfunc Tabs() {\n\tif a && b {\n\t\treturn\n\t}\n}\n"),
        file("odd/[brackets]/a b.txt", "(foo|bar)baz and foobaz\n-> :: **\n"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_are_those_of_a_plain_search() {
    let mut files = sources("crates/engine/src/search");
    files.extend(sources("crates/store/src/project"));
    files.extend(sources("docs"));
    files.extend(odd_files());
    files.sort();
    let given: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    // Everything is counted, so that all totals can be compared.
    let app = app_with(|config| config.search.exact_counted_max = config.search.exact_matches_max);
    let indexed = indexed(app, "oracle", &given).await;
    let mut differing = Vec::new();
    for pattern in PATTERNS {
        for case in [true, false] {
            let expected = oracle(&files, pattern, case);
            let mut found = Vec::new();
            let mut offset = json!(0);
            while offset.is_number() {
                let answer = grep(&indexed, pattern, json!({ "case": case, "offset": offset })).await;
                if (answer["total"].as_u64(), answer.get("totalRelation"))
                    != (Some(expected.len() as u64), None)
                {
                    differing.push(format!(
                        "{pattern} (case {case}): {} of {} lines",
                        answer["total"],
                        expected.len()
                    ));
                }
                found.extend(lines(&answer));
                offset = answer["nextOffset"].clone();
            }
            let is_same = |(found, expected): (&Line, &Line)| {
                // A long line is cut around its match.
                (&found.0, found.1, found.2, found.3) == (&expected.0, expected.1, expected.2, expected.3)
                    && expected.4.contains(&found.4)
            };
            if found.len() != expected.len() || !found.iter().zip(&expected).all(is_same) {
                let first = found.iter().zip(&expected).find(|pair| !is_same(*pair));
                differing.push(format!("{pattern} (case {case}): {first:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

/// The oracle above is ours, so it is compared with ripgrep as well, if that is installed.
#[test]
fn ripgrep_agrees_with_the_oracle() {
    let installed = Command::new("rg").arg("--version").output().is_ok();
    if !installed {
        println!("ripgrep is not installed: the oracle was compared with nothing");
        return;
    }
    let mut files = sources("crates/engine/src/search");
    files.extend(odd_files());
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in &files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for pattern in PATTERNS.iter().filter(|pattern| !pattern.contains("x00")) {
        for case in [true, false] {
            let flag = if case { "--case-sensitive" } else { "--ignore-case" };
            let output = Command::new("rg")
                .args([
                    "--no-config", "--crlf", "--no-ignore", "--sort=path", "--no-heading", "--line-number",
                    "--null", flag, "--", pattern, ".",
                ])
                .current_dir(folder.path())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut found: Vec<(String, u64)> = text
                .lines()
                .map(|line| {
                    let (path, rest) = line.trim_start_matches("./").split_once('\0').unwrap();
                    (path.to_owned(), rest.split(':').next().unwrap().parse().unwrap())
                })
                .collect();
            let mut expected: Vec<(String, u64)> =
                oracle(&files, pattern, case).into_iter().map(|(path, line, ..)| (path, line)).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{pattern} (case {case})");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_is_searched_as_it_is_now() {
    let indexed =
        indexed(app(), "edited-lines", &[("a.rs", "fn one() {}\n"), ("b.rs", "fn one() {}\n")]).await;
    assert_eq!(grep(&indexed, "fn one", json!({})).await["total"], 2);
    indexed.repository.write("a.rs", "fn two() {}\n");
    indexed.repository.remove("b.rs");
    index(&indexed.app, &indexed.repository, &indexed.project).await;
    assert_eq!(grep(&indexed, "fn one", json!({})).await["total"], 0);
    assert_eq!(super::places(&grep(&indexed, "fn two", json!({})).await), ["a.rs:1"]);
}
