//! Rules by which the text of a claim follows from lines of the repository. They are used to collect claims and, later, to prove them.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use crate::claim::Citation;
use crate::doc_comment::{comment_says, comment_sentences};
use crate::evidence::{Evidence, KnownDefinition, is_readme};
use crate::pattern::pattern;
use crate::prose::{sentences, stands_alone};
use crate::site::{PAGE_ITEMS_MAX, Page, is_page};

/// Maximum number of sentences of a document.
pub const SENTENCES_MAX: usize = 1_000;

/// Returns the product description in a manifest, with its line.
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

/// Returns the first and the last line of a file that say which licence it is: the declaring line, or the whole licence text.
#[must_use]
pub fn licence_lines(text: &str, spdx: &str) -> Option<(u32, u32)> {
    let declared = text.lines().zip(1..).find(|(line, _)| line.contains(spdx));
    let last = u32::try_from(text.lines().count()).ok().filter(|count| *count > 0)?;
    Some(declared.map_or((1, last), |(_, line)| (line, line)))
}

/// Returns the sentence about a definition; `None` if its name, kind or path is not plain.
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

/// The last part of a qualified name.
#[must_use]
pub fn simple_name(qualified: &str) -> &str {
    qualified.rsplit(['.', ':', '#']).next().unwrap_or_default()
}

/// Proves claims of one repository.
pub struct Proof<'a> {
    evidence: &'a dyn Evidence,
    product_name: &'a str,
    /// The sentences of documents with their first and last lines, by path.
    documents: HashMap<String, BTreeSet<(u32, u32, String)>>,
    /// The sentences in the comments of other files, by path.
    comments: HashMap<String, BTreeSet<String>>,
}

impl<'a> Proof<'a> {
    /// Creates the proof of the claims about this repository.
    #[must_use]
    pub fn new(evidence: &'a dyn Evidence, product_name: &'a str) -> Self {
        Self { evidence, product_name, documents: HashMap::new(), comments: HashMap::new() }
    }

    /// Checks whether a claim with this text can be derived from the cited lines.
    pub fn says(&mut self, text: &str, cited: &Citation) -> bool {
        let Some(file) = self.evidence.text(&cited.path) else { return false };
        self.is_sentence(file, text, cited)
            || self.is_description(file, text, cited)
            || self.is_licence(file, text, cited)
            || self.is_definition(text, cited)
            || comment_says(&cited.path, file, (cited.start_line, cited.end_line), text)
    }

    /// Checks whether a claim with this text can be derived from any lines of this file.
    pub fn says_anywhere(&mut self, text: &str, path: &str) -> bool {
        let Some(file) = self.evidence.text(path) else { return false };
        if defined(text).is_some() {
            return self.defines(text, path);
        }
        let is_said = match self.sentences_of(path, file) {
            Some(sentences) => sentences.iter().any(|(_, _, said)| said == text),
            None => self.comments_of(path, file).contains(text),
        };
        is_said
            || self.description_line(file, text, path).is_some()
            || self.licence_span(file, text, path).is_some()
    }

    /// Checks whether the index has the definition in this file that the text describes.
    fn defines(&self, text: &str, path: &str) -> bool {
        let Some((qualified, _)) = defined(text) else { return false };
        let same = self.evidence.definitions(simple_name(qualified)).iter();
        same.filter(|one| one.path == path).any(|one| definition_text(one).as_deref() == Some(text))
    }

    fn is_sentence(&mut self, file: &str, text: &str, cited: &Citation) -> bool {
        let sentences = self.sentences_of(&cited.path, file);
        sentences.is_some_and(|known| known.contains(&(cited.start_line, cited.end_line, text.to_owned())))
    }

    /// The sentences of a document; `None` for another file.
    fn sentences_of(&mut self, path: &str, file: &str) -> Option<&BTreeSet<(u32, u32, String)>> {
        if !is_page(path) && !is_readme(path) {
            return None;
        }
        let of_document = self.documents.entry(path.to_owned()).or_insert_with(|| {
            let page = Page::parse(path, file.to_owned(), PAGE_ITEMS_MAX);
            let all = sentences(&page, SENTENCES_MAX).into_iter();
            all.map(|one| (one.start_line, one.end_line, one.text)).collect()
        });
        Some(of_document)
    }

    fn comments_of(&mut self, path: &str, file: &str) -> &BTreeSet<String> {
        self.comments.entry(path.to_owned()).or_insert_with(|| comment_sentences(path, file))
    }

    fn is_description(&self, file: &str, text: &str, cited: &Citation) -> bool {
        cited.start_line == cited.end_line
            && self.description_line(file, text, &cited.path) == Some(cited.start_line)
    }

    /// Returns the line of a manifest at the root that contains this description of the product.
    fn description_line(&self, file: &str, text: &str, path: &str) -> Option<u32> {
        let is_manifest = self.evidence.packages().iter().any(|package| package.manifest == path);
        if !is_manifest || path.contains('/') {
            return None;
        }
        manifest_description(file).filter(|(said, _)| *said == text).map(|(_, line)| line)
    }

    fn is_licence(&self, file: &str, text: &str, cited: &Citation) -> bool {
        self.licence_span(file, text, &cited.path) == Some((cited.start_line, cited.end_line))
    }

    /// Returns the lines of a file that declare the licence named in the text.
    fn licence_span(&self, file: &str, text: &str, path: &str) -> Option<(u32, u32)> {
        let licence = self.evidence.licence().filter(|licence| licence.path == path)?;
        if licence_text(self.product_name, &licence.spdx) != text {
            return None;
        }
        licence_lines(file, &licence.spdx)
    }

    fn is_definition(&self, text: &str, cited: &Citation) -> bool {
        let Some((qualified, path)) = defined(text) else { return false };
        let name = simple_name(qualified);
        let line = self.evidence.lines(&cited.path, cited.start_line, cited.end_line);
        let is_there = path == cited.path
            && cited.start_line == cited.end_line
            && line.is_some_and(|line| line.contains(name));
        let same = self.evidence.definitions(name).iter();
        let known: Vec<&KnownDefinition> =
            same.filter(|one| one.path == cited.path && one.line == cited.start_line).collect();
        // Definitions are only known for names that were asked for; if they are known, one of them must match the text.
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
    fn claims_may_follow_from_other_lines() {
        let mut questions: Questions = asking(&["drawer", "purse"]);
        files().iter().for_each(|(path, _)| questions.ask_text(path));
        let facts = evidence(questions, &files(), &[("cash.py", 2, "drawer")]);
        let mut proof = Proof::new(&facts, "ShopKit");
        for (text, path, expected) in [
            ("Writes all of them.", "README.md", true),
            ("Writes none of them.", "README.md", false),
            ("Reads XLSX files too.", "README.md", false),
            ("Counts coins and keeps sales", "pyproject.toml", true),
            ("The licence of ShopKit is MIT.", "LICENSE", true),
            ("The licence of ShopKit is MIT.", "README.md", false),
            ("`drawer` is a function in `cash.py`.", "cash.py", true),
            ("`drawer` is a class in `cash.py`.", "cash.py", false),
            ("`purse` is a function in `cash.py`.", "cash.py", false),
            ("Adds all coins.", "cash.py", true),
            ("Adds all coins of a drawer.", "cash.rs", true),
            ("Adds all coins of a drawer.", "gone.rs", false),
        ] {
            assert_eq!(proof.says_anywhere(text, path), expected, "{text}");
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
