//! Tests that each gate, and no other, finds the faults it is responsible for.

mod alone;
mod bounds;
mod document_sites;
mod faults;
mod old_faults;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::allowed_paths::AllowedPaths;
use crate::claim::{Citation, Claim, ClaimKind, Claims, claim_id, line_sha256, marker, span_sha256};
use crate::config::{Budgets, Section};
use crate::evidence::tests::evidence;
use crate::evidence::{Evidence, Questions, RepositoryFacts};
use crate::observed::Observed;
use crate::report::GateStatus;
use crate::site::{MemoryFiles, Site, SiteLimits};
use crate::snippet::tests::parsed;

/// A finder that takes a word for a token, and the text after `password:` for a password.
struct Words;

impl SecretFinder for Words {
    fn find(&self, _: &str, text: &str) -> Vec<FoundSecret> {
        let kinds = [("TOPSECRETTOKEN", "api_token"), ("password: hunter2", "password")];
        let of_line = |(line, number): (&str, u32)| {
            let kind = kinds.iter().find(|(word, _)| line.contains(*word))?.1;
            Some(FoundSecret { line: number, kind: kind.to_owned() })
        };
        text.lines().zip(1..).filter_map(of_line).collect()
    }
}

const NAME: &str = "ShopKit";
const START: &str = "content/docs/shop/en/start.md";
const API: &str = "content/reference/shop/en/api.md";
const READS: &str = "Reads orders from CSV files.";
const LACKS: &str = "Does not read spreadsheets.";
const LICENCE_LINE: &str = "The licence is MIT.";
const CODE: &str = "from shop.orders import parse_order\n\nparse_order(\"a,1\")\n";
const MIT: &str = "Permission is hereby granted, free of charge, to any person obtaining a copy. THE SOFTWARE IS PROVIDED \"AS IS\".";

/// A run that writes both pages of a site, and its repository.
struct Scene {
    pages: Vec<(&'static str, String)>,
    repository: Vec<(&'static str, String)>,
    definitions: Vec<(&'static str, u32, &'static str)>,
    claims: Claims,
    allowed: Vec<String>,
    budgets: Budgets,
    sections: BTreeSet<Section>,
    observed: Observed,
    snippets: BTreeSet<String>,
    artifacts: Vec<(Value, Value)>,
    profile: Profile,
    /// The pages that the run changes.
    changed: Vec<&'static str>,
    /// The earlier texts of some of them.
    before: Vec<(&'static str, String)>,
}

fn id(text: &str, kind: ClaimKind) -> String {
    claim_id(text, kind, Some(NAME))
}

fn claim(text: &str, kind: ClaimKind, line: u32) -> Claim {
    let citation = Citation {
        path: "README.md".to_owned(),
        start_line: line,
        end_line: line,
        sha256: span_sha256(text),
    };
    Claim {
        claim_id: id(text, kind),
        text: text.to_owned(),
        kind,
        citations: vec![citation],
        replaced_by: None,
    }
}

impl Scene {
    fn new() -> Self {
        let reads = marker(&id(READS, ClaimKind::Feature));
        let lacks = marker(&id(LACKS, ClaimKind::Limitation));
        let start = format!(
            "---\ntitle: Start\n---\n# Start\n\n## Features\n\n{READS} {reads}\n\n## Limitations\n\n{LACKS} {lacks}\n\n\
             ## Install\n\n```sh\npip install shop-kit\n```\n\n## Example\n\n```python\n{CODE}```\n\n\
             ## [Reference](../../../reference/shop/en/api.md#parsing)\n\n{LICENCE_LINE}\n"
        );
        let api = format!(
            "---\ntitle: API\n---\n# API\n\n## Parsing\n\n- {READS} {reads}\n\n## Limitations\n\n> {LACKS} {lacks}\n"
        );
        let claims = [claim(READS, ClaimKind::Feature, 1), claim(LACKS, ClaimKind::Limitation, 2)];
        let planned = headings(&start).chain(headings(&api)).chain([line_sha256(LICENCE_LINE)]);
        let template_lines: BTreeSet<String> = planned.collect();
        Self {
            pages: vec![(START, start), (API, api)],
            repository: [
                ("README.md", &*format!("{READS}\n{LACKS}\n")),
                ("LICENSE", MIT),
                ("pyproject.toml", "[project]\nname = \"shop-kit\"\n"),
                ("shop/__init__.py", ""),
                ("shop/orders.py", "def parse_order(text):\n    return text\n"),
                ("shop/data/a.csv", "a,1\n"),
                ("package.json", "{ \"scripts\": { \"dev\": \"vite\" } }"),
            ]
            .map(|(path, text)| (path, text.to_owned()))
            .to_vec(),
            definitions: vec![("shop/orders.py", 1, "parse_order")],
            claims: Claims {
                by_id: claims.into_iter().map(|claim| (claim.claim_id.clone(), claim)).collect(),
                template_lines,
                product_name: Some(NAME.to_owned()),
            },
            allowed: ["content/docs/shop", "content/reference/shop"].map(str::to_owned).to_vec(),
            budgets: Budgets { max_files_changed: 10, max_lines_per_file: 200 },
            sections: BTreeSet::from([Section::Docs, Section::Reference]),
            observed: Observed::default(),
            snippets: BTreeSet::from([span_sha256(CODE)]),
            artifacts: Vec::new(),
            profile: Profile::Local,
            changed: vec![START, API],
            before: Vec::new(),
        }
    }

    /// Replaces a text in a page, which must have it. The headings of the page count as planned.
    fn replace(&mut self, path: &str, from: &str, to: &str) {
        let page = self.pages.iter_mut().find(|page| page.0 == path).unwrap();
        assert!(page.1.contains(from), "{path} has no {from}");
        page.1 = page.1.replace(from, to);
        self.claims.template_lines.extend(headings(&page.1));
    }

    /// Adds a text, whose headings count as planned.
    fn append(&mut self, path: &str, text: &str) {
        self.append_unplanned(path, text);
        self.claims.template_lines.extend(headings(text));
    }

    fn append_unplanned(&mut self, path: &str, text: &str) {
        let page = self.pages.iter_mut().find(|page| page.0 == path).unwrap();
        page.1.push_str(text);
    }

    /// Puts the first claim after other text in the README, and updates the claims' citations.
    fn cite(&mut self, before: &str) {
        let readme = format!("{before}{READS}\n\n## Limitations\n\n{LACKS}\n");
        self.replace_in_repository("README.md", &readme);
        for claim in self.claims.by_id.values_mut() {
            let said = readme.lines().zip(1..).find(|(line, _)| line.contains(&claim.text));
            let (line, number) = said.unwrap();
            let citation = &mut claim.citations[0];
            (citation.start_line, citation.end_line, citation.sha256) = (number, number, span_sha256(line));
        }
    }

    fn replace_in_repository(&mut self, path: &str, text: &str) {
        self.repository.iter_mut().find(|file| file.0 == path).unwrap().1 = text.to_owned();
    }

    fn site(&self) -> Site {
        let files: MemoryFiles = self.pages.iter().map(|(path, text)| (*path, text.as_str())).collect();
        Site::read(&files, None, &SiteLimits::default())
    }

    fn facts(&self, site: &Site) -> RepositoryFacts {
        let questions = Questions::new(site, &parsed(site), Some(&self.claims));
        let files: Vec<(&str, &str)> =
            self.repository.iter().map(|(path, text)| (*path, text.as_str())).collect();
        evidence(questions, &files, &self.definitions)
    }

    fn report(&self) -> ValidationReport {
        self.report_with(|facts| Ok(facts))
    }

    fn report_with<'r>(
        &self,
        choose: impl FnOnce(&'r RepositoryFacts) -> Result<&'r dyn Evidence, &'r str>,
    ) -> ValidationReport {
        let site = self.site();
        let facts: &'r RepositoryFacts = Box::leak(Box::new(self.facts(&site)));
        let (snippets, allowed_paths) = (parsed(&site), AllowedPaths::new(&self.allowed).unwrap());
        let changes: Vec<Change> = self
            .changed
            .iter()
            .filter_map(|path| {
                let text = |(_, text): &(&str, String)| text.clone();
                let after = self.pages.iter().find(|page| page.0 == *path).map(text)?;
                let before = self.before.iter().find(|page| page.0 == *path).map(text);
                Some(Change { path: (*path).to_owned(), before, after })
            })
            .collect();
        let planned = |section, path: &str, headings: &[&str]| RequiredPage {
            section,
            path: path.to_owned(),
            required_headings: headings.iter().map(|heading| (*heading).to_owned()).collect(),
        };
        let pages = [
            planned(Section::Docs, START, &["Features", "Example"]),
            planned(Section::Reference, API, &["Parsing"]),
        ];
        let folder =
            |section, folder: &str| SectionFolder { section, folder: folder.to_owned(), platform: None };
        let layout = Layout {
            folders: vec![
                folder(Section::Docs, "content/docs/shop"),
                folder(Section::Reference, "content/reference/shop"),
            ],
            locales: vec!["en".to_owned()],
        };
        let contract = discover_contract(site.pages().iter().filter(|page| page.path == API));
        let contracts = BTreeMap::from([(Section::Docs, contract.clone()), (Section::Reference, contract)]);
        let install = ["pip install shop-kit".to_owned()];
        let artifacts: Vec<Artifact<'_>> = self
            .artifacts
            .iter()
            .map(|(schema, content)| Artifact { name: "page_plan.json", schema, content })
            .collect();
        let run = RunInput {
            product_name: NAME,
            repository_url: "https://github.com/acme/shop",
            changes: &changes,
            allowed_paths: &allowed_paths,
            budgets: self.budgets,
            required_sections: &self.sections,
            pages: &pages,
            kept: &[],
            layout: Some(&layout),
            contracts: &contracts,
            snippet_hashes: &self.snippets,
            install_commands: &install,
            artifacts: &artifacts,
            observed: &self.observed,
        };
        check(&GateInput {
            site: &site,
            snippets: &snippets,
            evidence: choose(facts),
            claims: Some(&self.claims),
            run: Some(&run),
            secrets: &Words,
            profile: self.profile,
        })
    }
}

/// Returns hashes of the lines with headings.
fn headings(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(line_sha256)
}

/// Returns the names of the gates that failed.
fn failed(report: &ValidationReport) -> Vec<&str> {
    let failed = report.gates.iter().filter(|gate| gate.status == GateStatus::Failed);
    failed.map(|gate| gate.gate.as_str()).collect()
}

/// Returns gate and code of the issues that are worse than `info`.
fn found(report: &ValidationReport) -> Vec<(&str, &str)> {
    let issues = report.issues.iter().filter(|issue| issue.severity < Severity::Info);
    issues.map(|issue| (issue.gate.as_str(), issue.code.as_str())).collect()
}

#[test]
fn gates_and_rules_have_names_of_their_own() {
    let names: BTreeSet<&str> = GATES.iter().map(|gate| gate.name).collect();
    assert_eq!((names.len(), GATES.len()), (19, 19));
    let rules: Vec<&str> =
        GATES.iter().flat_map(|gate| gate.rules).chain(GENERAL_RULES).map(|rule| rule.code).collect();
    assert_eq!(rules.iter().collect::<BTreeSet<_>>().len(), rules.len(), "{rules:?}");
    assert_eq!(LINT_RULES.len(), 12);
    // The engine identifies these rules by their codes.
    for rule in NEEDS_PLAN {
        assert!(rules.contains(&rule.code) && !rule.fixable, "{}", rule.code);
    }
    for text in GATES.iter().map(|gate| gate.about) {
        assert!(text.ends_with('.'), "{text}");
    }
}

#[test]
fn a_gate_stops_between_two_others() {
    let scene = Scene::new();
    let site = scene.site();
    let input = GateInput {
        site: &site,
        snippets: &[],
        evidence: Err("nothing is indexed"),
        claims: None,
        run: None,
        secrets: &Words,
        profile: Profile::Local,
    };
    let mut seen = Vec::new();
    let stopped = check_while(&input, &mut |gate| {
        seen.push(gate);
        gate != "internal_links"
    });
    assert_eq!(stopped, Err(Stopped));
    assert_eq!(seen.last(), Some(&"internal_links"));
}
