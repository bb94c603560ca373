//! The language of code, comments, tests and documents: phrases that read as translated stay rare.

use std::fs;

use regex::Regex;

use super::{files, root};

/// Phrases, what to write instead, and how often they may occur: in strings that are part of the contract, names of users, quotations.
const PHRASES: &[(&str, &str, usize)] = &[
    (r"(?i)\b(?:somebody|whoever)\b", "name who acts: the caller, the operator, another process", 12),
    (r"(?i)\bnobody\b", "say that it is not done, or name who does not; the Unix user is called so", 60),
    (r"(?i)\bstands? (?:for|at|between)\b", "represents, is on line, is between", 8),
    (r"(?i)\b(?:told|tells)\b", "reports, says, shows, distinguishes", 18),
    (r"\bis none\b", "there is no …, it is missing", 9),
    (r"(?i)\bof which\b", "begin a sentence of its own", 14),
];

/// How many of a thousand doc comments may begin with a question word. Texts of the contract do.
const QUESTIONS_PER_THOUSAND: usize = 15;

/// The text of every file that people read.
fn texts() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = ["src", "crates", "modules", "tests/it", "benches"]
        .iter()
        .flat_map(|folder| files(folder, "rs"))
        .collect();
    found.extend(files("docs", "md"));
    for page in ["ARCHITECTURE.md", "README.md", "SECURITY.md"] {
        found.push((page.to_owned(), fs::read_to_string(root().join(page)).unwrap()));
    }
    found.retain(|(path, _)| !path.ends_with("tidy/language.rs"));
    found
}

#[test]
fn phrases_that_read_as_translated_stay_rare() {
    let texts = texts();
    for (phrase, instead, most) in PHRASES {
        let pattern = Regex::new(phrase).unwrap();
        let places: Vec<String> = texts
            .iter()
            .flat_map(|(path, text)| {
                let lines = text.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
                lines.map(move |(number, line)| format!("{path}:{}: {}", number + 1, line.trim()))
            })
            .collect();
        assert!(
            places.len() <= *most,
            "`{phrase}` {} times, at most {most}; write: {instead}\n{}",
            places.len(),
            places.join("\n")
        );
    }
}

#[test]
fn doc_comments_begin_with_a_verb_or_a_noun() {
    let question = Regex::new(r"^//[/!] (?:What|Whether|How|Where)\b").unwrap();
    let (mut comments, mut questions) = (0, Vec::new());
    for (path, text) in texts() {
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let is_doc = path.ends_with(".rs") && (line.starts_with("///") || line.starts_with("//!"));
            if is_doc && !inside {
                comments += 1;
                if question.is_match(line) {
                    questions.push(format!("{path}:{}: {line}", number + 1));
                }
            }
            inside = is_doc;
        }
    }
    assert!(
        questions.len() * 1000 <= comments * QUESTIONS_PER_THOUSAND,
        "{} of {comments} doc comments begin with a question word; begin with a verb or a noun\n{}",
        questions.len(),
        questions.join("\n")
    );
}
