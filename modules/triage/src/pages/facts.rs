//! Renders the known facts of a finding.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::answers::Finding;
use super::board;
use crate::findings::Record;
use surfaces::http::pages::frame::{Place, external_link, moment, search_url};

/// Renders all facts of a finding, in sections; `repositories` are those that may contain its places.
pub(super) fn facts(project: &str, finding: &Finding, repositories: &[String]) -> Markup {
    let record = &finding.record;
    html! {
        (why_it_matters(record))
        (target(record))
        (places(project, record, repositories))
        (links(project, record))
        (origin(finding))
    }
}

/// A row of a table of facts.
type Row<'a> = (&'a str, Option<&'a str>);

/// Renders the facts that are known; empty if there are none.
fn section(title: &str, rows: &[Row<'_>], more: &Markup) -> Markup {
    let known: Vec<(&str, &str)> =
        rows.iter().filter_map(|(label, value)| Some((*label, (*value)?))).collect();
    html! {
        @if !known.is_empty() || !more.0.is_empty() {
            section {
                h2 { (title) }
                @if !known.is_empty() {
                    dl.facts { @for (label, value) in known { dt { bdi { (label) } } dd { bdi { (value) } } } }
                }
                (more)
            }
        }
    }
}

fn why_it_matters(record: &Record) -> Markup {
    let (vuln, exposure) = (&record.vuln, &record.exposure);
    let cvss = vuln.cvss.as_ref().map(|cvss| {
        let score = cvss.score.map(|score| score.to_string());
        let parts = [score.as_deref(), cvss.vector.as_deref()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    });
    let (weaknesses, controls) = (list(&vuln.cwe), list(&exposure.compensating_controls));
    let exposed = exposure.internet_exposed.map(|yes| if yes { "yes" } else { "no" });
    let rows = [
        ("Severity", Some(vuln.severity.as_str())),
        ("CVSS", cvss.as_deref()),
        ("Reachable from the internet", exposed),
        ("Public endpoint", exposure.public_endpoint.as_deref()),
        ("Sensitivity of the data", exposure.data_sensitivity.as_deref()),
        ("Importance to the business", exposure.business_criticality.as_deref()),
        ("Protections", controls.as_deref()),
        ("Fixed in", record.package.fixed_version.as_deref()),
        ("Weaknesses", weaknesses.as_deref()),
    ];
    let description = html! { @if let Some(text) = &vuln.description { p.prose dir="auto" { (text) } } };
    section("Why it matters", &rows, &description)
}

fn target(record: &Record) -> Markup {
    let (package, asset) = (&record.package, &record.asset);
    let tags = values(&asset.tags);
    let mut rows = vec![
        ("Vulnerability", record.vuln.vuln_id.as_deref()),
        ("CVE", record.vuln.cve.as_deref().filter(|cve| record.vuln.vuln_id.as_deref() != Some(cve))),
        ("Package", package.name.as_deref()),
        ("Installed version", package.installed_version.as_deref()),
        ("Affected versions", package.affected_range.as_deref()),
        ("Ecosystem", package.ecosystem.as_deref()),
        ("Manifest", package.manifest_path.as_deref()),
        ("Package URL", package.purl.as_deref()),
        ("Imported as", package.import_name.as_deref()),
        ("Service", record.service.as_deref()),
        ("Environment", record.env.as_deref()),
        ("Team", record.team.as_deref()),
        ("Owner", record.owner.as_deref()),
        ("Repository", record.repo.as_deref()),
        ("Asset", asset.asset_id.as_deref()),
        ("Kind of asset", asset.asset_type.as_deref()),
        ("Account", asset.account.as_deref()),
        ("Region", asset.region.as_deref()),
    ];
    rows.extend(tags.iter().map(|(name, value)| (name.as_str(), Some(value.as_str()))));
    section("What is affected", &rows, &html! {})
}

/// Renders the places that a code scanner named, with links where the repository is known.
fn places(project: &str, record: &Record, repositories: &[String]) -> Markup {
    let named = record.repo.as_ref().filter(|name| repositories.contains(name));
    let repository = named.or(match repositories {
        [only] => Some(only),
        _ => None,
    });
    html! {
        @if !record.locations.is_empty() {
            section {
                h2 { "Places in the code" }
                ul.plain {
                    @for location in &record.locations {
                        @let line = location.start_line.and_then(|line| u32::try_from(line).ok());
                        @let label = html! { bdi { (location.path) } @if let Some(line) = line { ":" (line) } };
                        li {
                            @match repository.filter(|_| is_inside(&location.path)) {
                                Some(repository) => {
                                    @let place = Place { project, repository, path: &location.path };
                                    a href=(line.map_or_else(|| place.file(), |line| place.line(line))) { (label) }
                                }
                                None => (label),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Checks whether a path stays inside its repository, so that its address is that of a file.
fn is_inside(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn links(project: &str, record: &Record) -> Markup {
    let vuln = record.vuln.cve.as_deref().or(record.vuln.vuln_id.as_deref());
    let name = record.package.name.as_deref();
    html! {
        @if vuln.is_some() || name.is_some() || !record.vuln.references.is_empty() {
            section {
                h2 { "Links" }
                ul.plain {
                    @for (what, name) in [("vulnerability", vuln), ("package", name)] {
                        @if let Some(name) = name {
                            li { a href=(board::text_url(project, name)) { "Findings of the " (what) " " bdi { (name) } } }
                        }
                    }
                    @if let Some(import) = record.package.import_name.as_deref().or(name) {
                        li { a href=(search_url(project, import)) { "Search for " bdi { (import) } } }
                    }
                    @for reference in &record.vuln.references { li { (external_link(reference)) } }
                }
            }
        }
    }
}

/// Renders the origin of the finding.
fn origin(finding: &Finding) -> Markup {
    let record = &finding.record;
    let meta = values(&record.meta);
    let mut rows =
        vec![("Reported by", Some(record.source.as_str())), ("Record", Some(finding.record_id.as_str()))];
    rows.extend(meta.iter().map(|(name, value)| (name.as_str(), Some(value.as_str()))));
    let more = html! {
        p.dim {
            "First stored " (moment(&finding.created_at)) ", last changed " (moment(&finding.updated_at)) "."
        }
        @for warning in &record.parse_warnings { p.note { bdi { (warning) } } }
    };
    section("Where it comes from", &rows, &more)
}

fn list(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Formats fields of any type as texts.
fn values(fields: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leaves_its_repository_is_no_address() {
        assert!(is_inside("src/a b.rs"));
        for path in ["", "/etc/passwd", "../../sign-out", "a/./b", "a//b"] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
