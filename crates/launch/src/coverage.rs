//! Documentation coverage: public definitions that no page mentions, and pages that describe definitions that no longer exist.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use languages::terms::squash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::evidence::{Evidence, KnownDefinition, is_multiword};
use crate::issue::{Issue, Rule, Severity};
use crate::report::ValidationReport;
use crate::site::{LineKind, Page, Site};

/// Version of the form.
const COVERAGE_SCHEMA_VERSION: &str = "1.0";

const UNDOCUMENTED: Rule = Rule::new("undocumented", "No page mentions a public definition");
/// Name under which undocumented definitions are issues.
const GATE: &str = "coverage";

/// Maximum number of definitions that are listed; all are counted.
const LISTED_MAX: usize = 2_000;
/// Kinds of definitions that pages are expected to mention.
const KINDS: &[&str] = &["function", "method", "class", "struct", "interface", "trait", "enum", "type"];
/// Folders whose definitions are not for others.
const NOT_PUBLIC: &[&str] = &[
    "test", "tests", "spec", "specs", "__tests__", "testdata", "fixtures", "example", "examples", "bench",
    "benches", "benchmarks", "vendor", "third_party", "node_modules", "generated", "internal", "scripts",
    "fuzz", "migrations",
];

/// A definition that no page mentions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undocumented {
    /// Name with those of the enclosing definitions.
    pub name: String,
    /// `function`, `class` …
    pub kind: String,
    /// Path of its file in the repository.
    pub path: String,
    /// Line of its name, 1-based.
    pub line: u32,
}

/// A place of a page that speaks of what is gone, or an example that does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StalePlace {
    /// Path of the page.
    pub path: String,
    /// Line, 1-based.
    pub line: u32,
    /// Code of the issue.
    pub code: String,
    /// What is wrong.
    pub message: String,
}

/// How much of a folder of the repository is documented.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderCoverage {
    /// The folder; empty for the root.
    pub folder: String,
    /// Definitions that others can use.
    pub public: u32,
    /// Those among them that a page mentions.
    pub documented: u32,
}

/// The coverage of a repository by a site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Version of this form.
    pub schema_version: String,
    /// Definitions that others can use.
    pub public: u32,
    /// Those among them that a page mentions.
    pub documented: u32,
    /// Part of them, in whole percent, rounded down; 100 if there are none.
    pub percent: u32,
    /// The same by folder, sorted.
    pub folders: Vec<FolderCoverage>,
    /// Definitions that no page mentions, sorted by path and line; at most 2,000.
    pub undocumented: Vec<Undocumented>,
    /// Names, imports and paths of pages that the repository does not have any more.
    pub gone: Vec<StalePlace>,
    /// Examples that do not parse.
    pub broken_examples: Vec<StalePlace>,
}

impl Coverage {
    /// Compares the public definitions of a repository, which must have been asked for, with the pages of a site; `report` is that of
    /// the same site.
    #[must_use]
    pub fn new(site: &Site, evidence: &dyn Evidence, report: &ValidationReport) -> Self {
        let mentions = Mentions::new(site);
        let (mut public, mut documented) = (0_u32, 0_u32);
        let mut folders: BTreeMap<&str, FolderCoverage> = BTreeMap::new();
        let mut undocumented = Vec::new();
        for definition in evidence.public_definitions().iter().filter(|one| is_for_others(one)) {
            let folder = definition.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let of_folder = folders.entry(folder).or_default();
            let is_documented = mentions.document(definition);
            for count in [&mut public, &mut of_folder.public] {
                *count = count.saturating_add(1);
            }
            if is_documented {
                for count in [&mut documented, &mut of_folder.documented] {
                    *count = count.saturating_add(1);
                }
            } else if undocumented.len() < LISTED_MAX {
                undocumented.push(Undocumented {
                    name: definition.qualified.clone(),
                    kind: definition.kind.clone(),
                    path: definition.path.clone(),
                    line: definition.line,
                });
            }
        }
        let named = |(folder, coverage): (&str, FolderCoverage)| FolderCoverage {
            folder: folder.to_owned(),
            ..coverage
        };
        Self {
            schema_version: COVERAGE_SCHEMA_VERSION.to_owned(),
            public,
            documented,
            percent: percent(documented, public),
            folders: folders.into_iter().map(named).collect(),
            undocumented,
            gone: places(
                report,
                &["stale_import", "stale_name", "unknown_name", "missing_path", "missing_command"],
            ),
            broken_examples: places(report, &["snippet_syntax"]),
        }
    }

    /// The figure for a badge, as shields.io reads it from an address.
    #[must_use]
    pub fn badge(&self) -> Value {
        let color = match self.percent {
            80.. => "brightgreen",
            60.. => "yellowgreen",
            40.. => "yellow",
            20.. => "orange",
            _ => "red",
        };
        json!({ "schemaVersion": 1, "label": "documented", "message": format!("{} %", self.percent), "color": color })
    }

    /// The undocumented definitions as issues, whose paths are relative to the repository.
    #[must_use]
    pub fn issues(&self) -> Vec<Issue> {
        let issue = |one: &Undocumented| {
            let message = format!("No page mentions the {} `{}`.", one.kind, one.name);
            let place = Some((one.path.as_str(), Some(one.line)));
            Issue::new(GATE, &UNDOCUMENTED, Severity::Info, place, &one.name, message)
        };
        self.undocumented.iter().map(issue).collect()
    }
}

fn percent(part: u32, whole: u32) -> u32 {
    let percent = (u64::from(part) * 100).checked_div(u64::from(whole)).unwrap_or(100);
    u32::try_from(percent).unwrap_or(100)
}

fn places(report: &ValidationReport, codes: &[&str]) -> Vec<StalePlace> {
    let issues = report
        .issues
        .iter()
        .filter(|issue| issue.severity < Severity::Info && codes.contains(&issue.code.as_str()));
    let mut places: Vec<StalePlace> = issues
        .filter_map(|issue| {
            Some(StalePlace {
                path: issue.path.clone()?,
                line: issue.line?,
                code: issue.code.clone(),
                message: issue.message.clone(),
            })
        })
        .collect();
    places.sort_by(|one, other| {
        (&one.path, one.line, &one.message).cmp(&(&other.path, other.line, &other.message))
    });
    places
}

/// Returns `true` if pages are expected to mention a definition.
pub(crate) fn is_for_others(definition: &KnownDefinition) -> bool {
    let is_kind = KINDS.contains(&definition.kind.as_str());
    let is_hidden = definition.name.starts_with('_');
    let mut folders = definition.path.split('/').rev().skip(1);
    let name = definition.path.rsplit('/').next().unwrap_or_default();
    let is_test = name.starts_with("test_")
        || name.contains("_test.")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name == "tests.rs";
    is_kind && !is_hidden && !is_test && !folders.any(|folder| NOT_PUBLIC.contains(&folder))
}

/// The names that pages mention.
struct Mentions {
    /// Folded names in code and headings, with the pages.
    code: HashMap<String, BTreeSet<usize>>,
    /// Folded words of all text.
    text: HashSet<String>,
}

impl Mentions {
    fn new(site: &Site) -> Self {
        let mut mentions = Self { code: HashMap::new(), text: HashSet::new() };
        for (at, page) in site.pages().iter().enumerate() {
            mentions.add(at, page);
        }
        mentions
    }

    fn add(&mut self, at: usize, page: &Page) {
        let spans = page.code_spans.iter().map(|span| span.code.as_str());
        let blocks = page.code_blocks.iter().map(|block| block.code.as_str());
        let headings = page.headings.iter().map(|heading| heading.text.as_str());
        for text in spans.chain(blocks).chain(headings) {
            for word in folded_words(text) {
                self.code.entry(word).or_default().insert(at);
            }
        }
        for (_, kind, line) in page.numbered_lines() {
            if !matches!(kind, LineKind::Code | LineKind::FrontMatter) {
                self.text.extend(folded_words(line));
            }
        }
    }

    /// Returns `true` if a page mentions a definition: a name of several words counts anywhere; a single word counts in code or as a
    /// heading, and for a member only together with its owner.
    fn document(&self, definition: &KnownDefinition) -> bool {
        let folded = squash(&definition.name);
        let in_code = self.code.get(&folded);
        if is_multiword(&definition.name) {
            return in_code.is_some() || self.text.contains(&folded);
        }
        let Some(pages) = in_code else { return false };
        match languages::container(&definition.name, &definition.qualified) {
            None => true,
            Some(container) => {
                let container = container.rsplit([':', '.', '#', '\\', '/', ' ']).next().unwrap_or(container);
                self.code.get(&squash(container)).is_some_and(|of_container| !of_container.is_disjoint(pages))
            }
        }
    }
}

/// The words of a text, folded.
fn folded_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| word.len() > 1).map(squash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Questions;
    use crate::evidence::tests::{definition, evidence};
    use crate::report::Profile;
    use crate::site::{MemoryFiles, SiteLimits};

    fn coverage(pages: &[(&str, &str)], definitions: &[KnownDefinition]) -> Coverage {
        let files: MemoryFiles = pages.iter().copied().collect();
        let site = Site::read(&files, None, &SiteLimits::default());
        let mut builder =
            crate::evidence::RepositoryBuilder::new(Questions::default().with_public_definitions());
        for one in definitions {
            builder.add_definition(one.clone());
        }
        Coverage::new(
            &site,
            &builder.finish(),
            &ValidationReport::new(Profile::Local, Vec::new(), Vec::new()),
        )
    }

    fn method(container: &str, name: &str) -> KnownDefinition {
        let qualified = format!("{container}::{name}");
        KnownDefinition { qualified, kind: "method".to_owned(), ..definition("src/a.rs", 9, name) }
    }

    #[test]
    fn a_definition_is_documented_by_a_mention_that_means_it() {
        let page =
            "# Guide\n\nUse parse_order, `open` and `OrderBook`; close the book.\n\n```rust\nload(1);\n```\n";
        let other = "# Other\n\n`Ledger`\n";
        let definitions = [
            definition("src/a.rs", 1, "parse_order"),
            definition("src/a.rs", 2, "open"),
            definition("src/a.rs", 3, "close"),
            definition("src/a.rs", 4, "load"),
            method("OrderBook", "open"),
            method("Ledger", "open"),
            definition("tests/a.rs", 5, "helper_one"),
            definition("src/a_test.go", 6, "helper_two"),
            KnownDefinition { is_exported: Some(false), ..definition("src/a.rs", 7, "private_one") },
        ];
        let coverage = coverage(&[("a.md", page), ("b.md", other)], &definitions);
        let names: Vec<&str> = coverage.undocumented.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["close", "Ledger::open"]);
        assert_eq!((coverage.documented, coverage.public, coverage.percent), (4, 6, 66));
        let folder = FolderCoverage { folder: "src".to_owned(), public: 6, documented: 4 };
        assert_eq!(coverage.folders, [folder]);
        assert_eq!(coverage.badge()["message"], "66 %");
        assert_eq!(coverage.issues().len(), 2);
    }

    #[test]
    fn nothing_public_is_all_documented() {
        let coverage = coverage(&[("a.md", "# A")], &[]);
        assert_eq!((coverage.public, coverage.percent), (0, 100));
    }

    #[test]
    fn stale_places_come_from_the_report() {
        let stale = Rule::new("stale_name", "Stale");
        let syntax = Rule::new("snippet_syntax", "Broken");
        let issue = |rule: &Rule, severity, line| {
            Issue::new(
                "snippets",
                rule,
                severity,
                Some(("a.md", Some(line))),
                &line.to_string(),
                String::new(),
            )
        };
        let issues = vec![
            issue(&stale, Severity::Error, 9),
            issue(&stale, Severity::Warning, 2),
            issue(&stale, Severity::Info, 3),
            issue(&syntax, Severity::Warning, 4),
        ];
        let report = ValidationReport::new(Profile::Local, Vec::new(), issues);
        let facts = evidence(Questions::default(), &[], &[]);
        let coverage = Coverage::new(&Site::default(), &facts, &report);
        let lines = |places: &[StalePlace]| places.iter().map(|place| place.line).collect::<Vec<_>>();
        assert_eq!((lines(&coverage.gone), lines(&coverage.broken_examples)), (vec![2, 9], vec![4]));
    }
}
