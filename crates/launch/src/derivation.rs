//! How the text of a claim follows from lines of the repository. Claims are collected by these rules, and proved by them again.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use crate::claim::Citation;
use crate::doc_comment::comment_says;
use crate::evidence::{Evidence, KnownDefinition, is_readme};
use crate::pattern::pattern;
use crate::prose::{sentences, stands_alone};
use crate::site::{Page, is_page};

/// Most sentences of a document.
pub const SENTENCES_MAX: usize = 1_000;
/// Most headings and other parts of a document that are read.
const ITEMS_MAX: usize = 10_000;

/// What a manifest says the product is, with its line.
#[must_use]
pub fn manifest_description(manifest: &str) -> Option<(&str, u32)> {
    static DESCRIPTION: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"^\s*"?description"?\s*[=:]\s*"([^"\\]+)"\s*,?\s*$"#));
    let lines = manifest.lines().zip(1..);
    let mut said =
        lines.filter_map(|(line, number)| Some((DESCRIPTION.captures(line)?.get(1)?.as_str(), number)));
    said.find(|(said, _)| stands_alone(said, true))
}

/// The sentence about the licence.
#[must_use]
pub fn licence_text(product_name: &str, spdx: &str) -> String {
    format!("The licence of {product_name} is {spdx}.")
}

/// The first and the last line of a file that say which licence it is: the line that declares it, or all of the licence itself.
#[must_use]
pub fn licence_lines(text: &str, spdx: &str) -> Option<(u32, u32)> {
    let declared = text.lines().zip(1..).find(|(line, _)| line.contains(spdx));
    let last = u32::try_from(text.lines().count()).ok().filter(|count| *count > 0)?;
    Some(declared.map_or((1, last), |(_, line)| (line, line)))
}

/// What a definition is; `None` for one whose name, kind or path is not plain.
#[must_use]
pub fn definition_text(definition: &KnownDefinition) -> Option<String> {
    let KnownDefinition { qualified, kind, path, .. } = definition;
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let text = format!("`{qualified}` is {article} {kind} in `{path}`.");
    (DEFINITION.is_match(&text) && stands_alone(&text, false)).then_some(text)
}

/// The sentence about a definition, with its qualified name and its path.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^`([A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|#)[A-Za-z_$][A-Za-z0-9_$]*)*)` is an? [a-z_ ]+ in `([A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*)`\.$",
    )
});

/// The qualified name and the path in the sentence about a definition; `None` for another sentence.
#[must_use]
pub fn defined(text: &str) -> Option<(&str, &str)> {
    let parts = DEFINITION.captures(text)?;
    Some((parts.get(1)?.as_str(), parts.get(2)?.as_str()))
}

/// Proves claims of one repository.
pub struct Proof<'a> {
    evidence: &'a dyn Evidence,
    product_name: &'a str,
    /// The sentences of documents with their first and last lines, by path.
    documents: HashMap<String, BTreeSet<(u32, u32, String)>>,
}

impl<'a> Proof<'a> {
    /// Proves what this repository says.
    #[must_use]
    pub fn new(evidence: &'a dyn Evidence, product_name: &'a str) -> Self {
        Self { evidence, product_name, documents: HashMap::new() }
    }

    /// Whether a claim with this text can be taken from the cited lines.
    pub fn says(&mut self, text: &str, cited: &Citation) -> bool {
        let Some(file) = self.evidence.text(&cited.path) else { return false };
        self.is_sentence(file, text, cited)
            || self.is_description(file, text, cited)
            || self.is_licence(file, text, cited)
            || self.is_definition(text, cited)
            || comment_says(&cited.path, file, (cited.start_line, cited.end_line), text)
    }

    fn is_sentence(&mut self, file: &str, text: &str, cited: &Citation) -> bool {
        if !is_page(&cited.path) && !is_readme(&cited.path) {
            return false;
        }
        let of_document = self.documents.entry(cited.path.clone()).or_insert_with(|| {
            let page = Page::parse(&cited.path, file.to_owned(), ITEMS_MAX);
            let all = sentences(&page, SENTENCES_MAX).into_iter();
            all.map(|one| (one.start_line, one.end_line, one.text)).collect()
        });
        of_document.contains(&(cited.start_line, cited.end_line, text.to_owned()))
    }

    fn is_description(&self, file: &str, text: &str, cited: &Citation) -> bool {
        let is_manifest = self.evidence.packages().iter().any(|package| package.manifest == cited.path);
        is_manifest
            && !cited.path.contains('/')
            && cited.start_line == cited.end_line
            && manifest_description(file) == Some((text, cited.start_line))
    }

    fn is_licence(&self, file: &str, text: &str, cited: &Citation) -> bool {
        self.evidence.licence().is_some_and(|licence| {
            licence.path == cited.path
                && licence_text(self.product_name, &licence.spdx) == text
                && licence_lines(file, &licence.spdx) == Some((cited.start_line, cited.end_line))
        })
    }

    fn is_definition(&self, text: &str, cited: &Citation) -> bool {
        let Some((qualified, path)) = defined(text) else { return false };
        let name = qualified.rsplit(['.', ':', '#']).next().unwrap_or_default();
        let line = self.evidence.lines(&cited.path, cited.start_line, cited.end_line);
        let is_there = path == cited.path
            && cited.start_line == cited.end_line
            && line.is_some_and(|line| line.contains(name));
        let same = self.evidence.definitions(name).iter();
        let known: Vec<&KnownDefinition> =
            same.filter(|one| one.path == cited.path && one.line == cited.start_line).collect();
        // The index need not have been asked for this name; if it was, it knows what the definition is.
        is_there
            && (known.is_empty() || known.iter().any(|one| definition_text(one).as_deref() == Some(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::span_sha256;
    use crate::evidence::Questions;
    use crate::evidence::tests::{asking, evidence};

    const MANIFEST: &str = "[project]\nname = \"shopkit\"\ndescription = \"Counts coins and keeps sales\"\n";
    const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy.\nTHE SOFTWARE IS PROVIDED \"AS IS\".\n";

    fn files() -> Vec<(&'static str, &'static str)> {
        vec![
            (
                "README.md",
                "# Shop\n\nReads sales. Writes\nall of them.\n\n## Roadmap\n\nReads XLSX files too.\n",
            ),
            ("pyproject.toml", MANIFEST),
            ("LICENSE", MIT),
            ("cash.py", "LIMIT = 3\ndef drawer(coins):\n    \"\"\"Adds all coins.\"\"\"\n"),
            ("cash.rs", "/// Adds all coins\n/// of a drawer. Never fails.\n#[must_use]\npub fn sum() {}\n"),
        ]
    }

    fn says(text: &str, path: &str, (start_line, end_line): (u32, u32)) -> bool {
        let mut questions: Questions = asking(&["drawer"]);
        questions.ask_text(path);
        let facts = evidence(questions, &files(), &[("cash.py", 2, "drawer")]);
        let sha256 = span_sha256(&facts.lines(path, start_line, end_line).unwrap());
        let cited = Citation { path: path.to_owned(), start_line, end_line, sha256 };
        Proof::new(&facts, "ShopKit").says(text, &cited)
    }

    #[test]
    fn what_is_collected_is_proved() {
        for (text, path, lines) in [
            ("Writes all of them.", "README.md", (3, 4)),
            ("Counts coins and keeps sales", "pyproject.toml", (3, 3)),
            ("The licence of ShopKit is MIT.", "LICENSE", (1, 2)),
            ("`drawer` is a function in `cash.py`.", "cash.py", (2, 2)),
            ("Adds all coins.", "cash.py", (3, 3)),
            ("Adds all coins of a drawer.", "cash.rs", (1, 2)),
        ] {
            assert!(says(text, path, lines), "{text}");
        }
    }

    #[test]
    fn what_the_lines_do_not_say_is_not_proved() {
        for (text, path, lines) in [
            ("Writes nothing at all.", "README.md", (3, 4)),
            ("Writes all of them.", "README.md", (3, 3)),
            ("Reads XLSX files too.", "README.md", (8, 8)),
            ("Counts coins and keeps sales", "pyproject.toml", (2, 2)),
            ("Counts notes and keeps sales", "pyproject.toml", (3, 3)),
            ("The licence of ShopKit is ISC.", "LICENSE", (1, 2)),
            ("The licence of ShopKit is MIT.", "README.md", (1, 1)),
            ("`drawer` is a class in `cash.py`.", "cash.py", (2, 2)),
            ("`drawer` is a function in `cash.rs`.", "cash.py", (2, 2)),
            ("`purse` is a function in `cash.py`.", "cash.py", (2, 2)),
            ("Adds no coins at all.", "cash.py", (3, 3)),
            ("Never fails at all.", "cash.rs", (2, 2)),
        ] {
            assert!(!says(text, path, lines), "{text}");
        }
    }
}
