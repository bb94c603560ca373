//! Collects evidence for a finding: searches code, documents and comments for the names in it.

use schemars::JsonSchema;
use serde::Serialize;

use super::record::{Record, StoredRecord};
use contract::Fault;
use engine::search::{
    self, Mode, Output, ScoreParts, ScoreType, SearchAnswer, SearchDeps, SearchRequest, Vectors, headline,
    present,
};
use store::postgres::retry_stale_plan;
use store::{Index, Project, Store};

/// The searched modes.
const MODES: [Mode; 3] = [Mode::Code, Mode::Prose, Mode::ExtractedProse];
/// Longest snippet of a hit, in characters.
const SNIPPET_CHARS_MAX: usize = 240;
/// Maximum number of queries for one finding; each is searched once in each mode.
const QUERIES_MAX: usize = 8;
/// Size limit of the answer to one query.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The evidence for a finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// One entry for each query and mode, in order.
    pub queries: Vec<EvidenceQuery>,
}

/// The hits of one query in one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceQuery {
    /// The query, in the query language of `search`.
    pub query: String,
    /// The searched mode.
    pub mode: Mode,
    /// The hits, best first.
    pub hits: Vec<EvidenceHit>,
}

/// A chunk that mentions the finding.
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
    /// Name of the main definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// One line that describes the chunk.
    pub headline: String,
    /// Larger is better; comparable within one query only.
    pub score: f64,
    /// The retrievers that contributed to the score.
    pub score_type: ScoreType,
    /// The parts of the score.
    pub score_breakdown: ScoreParts,
    /// Beginning of the chunk's text.
    pub snippet: String,
}

/// A step that failed; the other steps were completed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PackWarning {
    /// The step that failed: search or history.
    pub step: &'static str,
    /// The mode of a failed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The query of a failed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Why it failed.
    pub error: String,
}

impl PackWarning {
    pub(super) fn new(step: &'static str, searched: Option<(Mode, String)>, fault: &Fault) -> Self {
        let (mode, query) = searched.unzip();
        Self { step, mode, query, error: format!("{}: {}", fault.code, fault.message) }
    }
}

/// Options of the search for evidence.
#[derive(Debug, Clone, Copy)]
pub struct EvidenceOptions {
    /// Participation of the dense retriever.
    pub vectors: Vectors,
    /// Maximum number of hits per query and mode.
    pub hits_max: usize,
}

/// Searches every query in every mode. A search that fails becomes a warning.
pub(super) async fn search_evidence(
    store: &Store,
    project: &Project,
    deps: SearchDeps<'_>,
    finding: &StoredRecord,
    options: EvidenceOptions,
    warnings: &mut Vec<PackWarning>,
) -> Evidence {
    let mut found = Evidence::default();
    for query in evidence_queries(&finding.record) {
        for mode in MODES {
            let request = SearchRequest {
                query: query.clone(),
                mode,
                top: options.hits_max,
                vectors: options.vectors,
                // The reader of a pack judges the hits, so the pack also contains those that a search would reject as doubtful.
                keep_doubtful: true,
                ..SearchRequest::default()
            };
            match retry_stale_plan(|| search::execute(deps, Index::Postgres(store, project), &request)).await
            {
                Ok(answer) => {
                    found.queries.push(EvidenceQuery { query: query.clone(), mode, hits: hits(&answer) })
                }
                Err(fault) => warnings.push(PackWarning::new("search", Some((mode, query.clone())), &fault)),
            }
        }
    }
    found
}

fn hits(answer: &SearchAnswer) -> Vec<EvidenceHit> {
    let shown = present(answer, Output::Compact, false, ANSWER_BYTES_MAX).hits;
    let hit = |(shown, hit): (search::PresentedHit, &search::Hit)| {
        let snippet = shown.snippet.unwrap_or_else(|| hit.content.clone());
        EvidenceHit {
            file: shown.file,
            repo: hit.repository.clone(),
            start_line: shown.start_line,
            end_line: shown.end_line,
            kind: shown.kind,
            name: shown.name,
            headline: shown.headline.unwrap_or_else(|| headline(hit)),
            score: shown.score,
            score_type: ScoreType::new(&hit.parts, answer.vectors_used),
            score_breakdown: hit.parts,
            snippet: snippet.chars().take(SNIPPET_CHARS_MAX).collect(),
        }
    };
    shown.into_iter().zip(&answer.hits).map(hit).collect()
}

/// Returns the queries for a finding: the ids of the vulnerability, the package, its import name, its manifest, the public endpoint and the
/// locations. Each is a phrase, so that only chunks that contain it are evidence.
pub(super) fn evidence_queries(record: &Record) -> Vec<String> {
    let (vuln, package) = (&record.vuln, &record.package);
    let mut queries = Vec::new();
    let mut add = |query: Option<String>| queries.extend(query);
    add(vuln.cve.as_deref().and_then(phrase));
    add(vuln.vuln_id.as_deref().and_then(phrase));
    add(package.name.as_deref().and_then(phrase));
    add(import_name(record).as_deref().and_then(phrase));
    let manifest = package.manifest_path.as_deref().and_then(|path| path.rsplit('/').next()).and_then(phrase);
    let words = package.name.as_deref().map(plain_words).unwrap_or_default();
    add(manifest.map(|name| format!("{words} file:{name}").trim().to_owned()));
    add(record.exposure.public_endpoint.as_deref().and_then(|endpoint| phrase(path_of(endpoint))));
    for location in &record.locations {
        add(phrase(&location.path).map(|path| format!("path:{path}")));
    }
    let mut seen = std::collections::HashSet::new();
    queries.retain(|query| seen.insert(query.to_lowercase()));
    queries.truncate(QUERIES_MAX);
    queries
}

/// Returns a text as a phrase of the query language; `None` if it has no letters or digits.
fn phrase(text: &str) -> Option<String> {
    let plain: String = text.chars().map(|c| if c == '"' || c.is_control() { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.contains(char::is_alphanumeric).then(|| format!("\"{plain}\""))
}

/// Returns a name as plain words, without characters that are operators in the query language.
fn plain_words(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Returns the name under which code imports the package: the one in the record, or the package name without the scope.
fn import_name(record: &Record) -> Option<String> {
    let package = &record.package;
    package.import_name.clone().or_else(|| {
        let name = package.name.as_deref()?;
        Some(name.rsplit(['/', ':']).next().unwrap_or(name).to_owned())
    })
}

/// Returns the path of a URL, because code contains paths rather than hosts; any other text unchanged.
fn path_of(endpoint: &str) -> &str {
    let Some((_, rest)) = endpoint.split_once("://") else { return endpoint };
    rest.find('/').map(|slash| &rest[slash..]).filter(|path| path.len() > 1).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::record::{Exposure, Location, Package, Vuln};

    #[test]
    fn the_queries_contain_the_names_in_a_finding() {
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
        assert_eq!(evidence_queries(&record), expected);
        assert_eq!(evidence_queries(&Record::default()), [] as [String; 0]);
    }
}
