//! What the repositories of a project say of a finding: its names, asked in code, documents and comments.

use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Record, StoredRecord};
use crate::search::{
    self, Deps, Mode, Output, Parts, ScoreType, SearchAnswer, SearchRequest, Vectors, headline, present,
};
use contract::Fault;
use store::postgres::retry_stale_plan;
use store::{Index, Project, Store};

/// Where it is looked.
const MODES: [Mode; 3] = [Mode::Code, Mode::Prose, Mode::ExtractedProse];
/// Characters of a hit's text.
const SNIPPET_CHARS_MAX: usize = 240;
/// Different questions; each is asked once a mode.
const QUESTIONS_MAX: usize = 8;
/// Bytes of answers to one question that are looked at.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// What was asked and found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// In the order in which it was asked.
    pub queries: Vec<Asked>,
}

/// One question in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asked {
    /// The question, in the language of `search`.
    pub query: String,
    /// Where.
    pub mode: Mode,
    /// What was found, best first.
    pub hits: Vec<EvidenceHit>,
}

/// A place that says something of the finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceHit {
    /// Path relative to its repository.
    pub file: String,
    /// Name of the repository.
    pub repo: String,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// function, class, section …
    pub kind: String,
    /// Of the main definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One line.
    pub headline: String,
    /// Larger is better; comparable within one question only.
    pub score: f64,
    /// What that is made of.
    pub score_type: ScoreType,
    /// Its parts.
    pub score_breakdown: Parts,
    /// The first characters of what it says.
    pub snippet: String,
}

/// A step that failed; the others were taken.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PackWarning {
    /// search or history.
    pub step: &'static str,
    /// Where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Why it failed.
    pub error: String,
}

impl PackWarning {
    pub(super) fn of(step: &'static str, asked: Option<(Mode, String)>, fault: &Fault) -> Self {
        let (mode, query) = asked.unzip();
        Self { step, mode, query, error: format!("{}: {}", fault.code, fault.message) }
    }
}

/// How evidence is looked for.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceOptions {
    /// Whether vectors are compared.
    pub vectors: Vectors,
    /// Hits a question.
    pub hits_max: usize,
}

/// Asks every question in every mode. One that fails is a warning.
pub(super) async fn evidence(
    store: &Store,
    project: &Project,
    deps: Deps<'_>,
    finding: &StoredRecord,
    options: EvidenceOptions,
    warnings: &mut Vec<PackWarning>,
) -> Evidence {
    let mut found = Evidence::default();
    for query in questions(&finding.record) {
        for mode in MODES {
            let request = SearchRequest {
                query: query.clone(),
                mode,
                top: options.hits_max,
                vectors: options.vectors,
                // A pack says what was looked for and what was near; who reads it decides.
                keep_doubtful: true,
                ..SearchRequest::default()
            };
            match retry_stale_plan(|| search::search(deps, Index::Postgres(store, project), &request)).await {
                Ok(answer) => found.queries.push(Asked { query: query.clone(), mode, hits: hits(&answer) }),
                Err(fault) => warnings.push(PackWarning::of("search", Some((mode, query.clone())), &fault)),
            }
        }
    }
    found
}

fn hits(answer: &SearchAnswer) -> Vec<EvidenceHit> {
    let shown = present(answer, Output::Compact, false, ANSWER_BYTES_MAX).hits;
    let hit = |(shown, hit): (search::PresentedHit, &search::Hit)| {
        let said = shown.snippet.unwrap_or_else(|| hit.content.clone());
        EvidenceHit {
            file: shown.file,
            repo: hit.repository.clone(),
            start_line: shown.start_line,
            end_line: shown.end_line,
            kind: shown.kind,
            name: shown.name,
            headline: shown.headline.unwrap_or_else(|| headline(hit)),
            score: shown.score,
            score_type: ScoreType::of(&hit.parts, answer.vectors_used),
            score_breakdown: hit.parts,
            snippet: said.chars().take(SNIPPET_CHARS_MAX).collect(),
        }
    };
    shown.into_iter().zip(&answer.hits).map(hit).collect()
}

/// What to ask: the ids of the vulnerability, the package, its import, its manifest, the endpoint, the places. Each as a
/// phrase, so that only what says it is evidence.
fn questions(record: &Record) -> Vec<String> {
    let (vuln, package) = (&record.vuln, &record.package);
    let mut asked = Vec::new();
    let mut ask = |question: Option<String>| asked.extend(question);
    ask(vuln.cve.as_deref().and_then(phrase));
    ask(vuln.vuln_id.as_deref().and_then(phrase));
    ask(package.name.as_deref().and_then(phrase));
    ask(import_name(record).as_deref().and_then(phrase));
    let manifest = package.manifest_path.as_deref().and_then(|path| path.rsplit('/').next()).and_then(phrase);
    let words = package.name.as_deref().map(plain_words).unwrap_or_default();
    ask(manifest.map(|name| format!("{words} file:{name}").trim().to_owned()));
    ask(record.exposure.public_endpoint.as_deref().and_then(|endpoint| phrase(path_of(endpoint))));
    for location in &record.locations {
        ask(phrase(&location.path).map(|path| format!("path:{path}")));
    }
    let mut seen = std::collections::HashSet::new();
    asked.retain(|question| seen.insert(question.to_lowercase()));
    asked.truncate(QUESTIONS_MAX);
    asked
}

/// A text as a phrase of the query language; none where nothing is left of it.
fn phrase(text: &str) -> Option<String> {
    let plain: String = text.chars().map(|c| if c == '"' || c.is_control() { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.contains(char::is_alphanumeric).then(|| format!("\"{plain}\""))
}

/// A name as words that rank and mean nothing else.
fn plain_words(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// The name under which code imports the package: what the record says, or its name without the scope.
fn import_name(record: &Record) -> Option<String> {
    let package = &record.package;
    package.import_name.clone().or_else(|| {
        let name = package.name.as_deref()?;
        Some(name.rsplit(['/', ':']).next().unwrap_or(name).to_owned())
    })
}

/// The path of a URL, which code names; any other text as it is.
fn path_of(endpoint: &str) -> &str {
    let Some((_, rest)) = endpoint.split_once("://") else { return endpoint };
    rest.find('/').map(|slash| &rest[slash..]).filter(|path| path.len() > 1).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triage::record::{Exposure, Location, Package, Vuln};

    #[test]
    fn a_finding_is_asked_for_by_its_names() {
        let record = Record {
            vuln: Vuln {
                vuln_id: Some("CVE-2024-0001".into()),
                cve: Some("CVE-2024-0001".into()),
                ..Vuln::default()
            },
            package: Package {
                name: Some("@acme/left-pad".into()),
                manifest_path: Some("web/package.json".into()),
                ..Package::default()
            },
            exposure: Exposure {
                public_endpoint: Some("https://shop.example.com/pay".into()),
                ..Exposure::default()
            },
            locations: vec![Location { path: "src/a \"b\".rs".into(), ..Location::default() }],
            ..Record::default()
        };
        let expected = [
            "\"CVE-2024-0001\"",
            "\"@acme/left-pad\"",
            "\"left-pad\"",
            "acme left pad file:\"package.json\"",
            "\"/pay\"",
            "path:\"src/a b .rs\"",
        ];
        assert_eq!(questions(&record), expected);
        assert_eq!(questions(&Record::default()), [] as [String; 0]);
    }
}
