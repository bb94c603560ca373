//! A run of a SARIF log: its tool with the rules, the files that its results name by number, and the scope of its results.

use std::collections::HashMap;

use serde_json::Value;

use crate::findings::json_path::{text_at, value_at};
use crate::findings::source::FindingSource;
use crate::findings::split::{self, ItemSpan};

/// Maximum number of rules of a tool that are read.
const RULES_MAX: usize = 20_000;
/// Maximum number of files of a run to which results can refer by number.
const ARTIFACTS_MAX: usize = 100_000;
/// Longest address of such a file in the text; each result that refers to it has a copy.
const ARTIFACT_URI_BYTES_MAX: usize = 4096;
/// Fields in which an invocation reports errors.
const NOTIFICATIONS: &[&str] = &["toolExecutionNotifications", "toolConfigurationNotifications"];

/// The facts of a run that its results need.
#[derive(Debug, Clone)]
pub(in crate::findings) struct SarifRun {
    /// The name of the tool.
    pub(super) tool: Option<String>,
    rules: HashMap<String, Value>,
    /// Ids of the driver's rules; results refer to them by index.
    driver_rule_ids: Vec<String>,
    /// The addresses of files; results refer to them by index.
    artifacts: Vec<String>,
    /// Format, tool, category and target: results of another scope are other results.
    pub(in crate::findings) scope: String,
    /// `true` if the tool says that it failed or met an error, so that results may be missing.
    pub(in crate::findings) has_failed: bool,
}

impl Default for SarifRun {
    fn default() -> Self {
        Self::from_fields(|_| None)
    }
}

impl SarifRun {
    /// Reads a run from those of its fields that are not results; ignores missing and malformed ones.
    pub(in crate::findings) fn from_fields(field: impl Fn(&str) -> Option<Value>) -> Self {
        let tool = field("tool").unwrap_or_default();
        let rules_of = |component: &Value| -> Vec<Value> {
            let rules = value_at(component, "rules").and_then(Value::as_array);
            rules.map(|rules| rules.iter().take(RULES_MAX).cloned().collect()).unwrap_or_default()
        };
        let driver = value_at(&tool, "driver").cloned().unwrap_or_default();
        let name = text_at(&driver, &["name"]);
        let text = |name: &str, path: &str| field(name).and_then(|value| text_at(&value, &[path]));
        let parts = [
            name.clone(),
            text("automationDetails", "id").map(|id| category(&id).to_owned()),
            text("properties", "imageName"),
            text("versionControlProvenance", "0.repositoryUri"),
        ];
        let parts = parts.map(Option::unwrap_or_default);
        let invocations = field("invocations").unwrap_or_default();
        let has_failed = invocations.as_array().into_iter().flatten().any(has_failed);
        let mut found = Self {
            tool: name,
            rules: HashMap::new(),
            driver_rule_ids: Vec::new(),
            artifacts: Vec::new(),
            scope: format!("{}\n{}", FindingSource::Sarif.as_str(), parts.join("\n")),
            has_failed,
        };
        for rule in rules_of(&driver) {
            let id = text_at(&rule, &["id"]).unwrap_or_default();
            found.driver_rule_ids.push(id.clone());
            found.rules.insert(id, rule);
        }
        for extension in value_at(&tool, "extensions").and_then(Value::as_array).into_iter().flatten() {
            for rule in rules_of(extension) {
                if let Some(id) = text_at(&rule, &["id"]) {
                    found.rules.entry(id).or_insert(rule);
                }
            }
        }
        found
    }

    /// Returns the run with the files that [`artifact_uris`] found.
    pub(in crate::findings) fn with_artifacts(self, artifacts: Vec<String>) -> Self {
        Self { artifacts, ..self }
    }

    /// Returns the address in an `artifactLocation`: its own, otherwise that of the file to which it refers by index.
    pub(super) fn uri(&self, location: &Value) -> Option<String> {
        let by_index = || {
            let index = usize::try_from(value_at(location, "index")?.as_u64()?).ok()?;
            self.artifacts.get(index).filter(|uri| !uri.is_empty()).cloned()
        };
        text_at(location, &["uri"]).or_else(by_index)
    }

    /// Returns the id and the rule of a result; the rule is null if it is not known.
    pub(super) fn rule(&self, result: &Value) -> (Option<String>, Value) {
        let index =
            value_at(result, "ruleIndex").or_else(|| value_at(result, "rule.index")).and_then(Value::as_u64);
        let by_index = || self.driver_rule_ids.get(usize::try_from(index?).ok()?).cloned();
        let id = text_at(result, &["ruleId", "rule.id"]).or_else(by_index);
        let rule = id.as_ref().and_then(|id| {
            // `CA1000/1` is a sub-rule of `CA1000`.
            self.rules.get(id).or_else(|| self.rules.get(id.rsplit_once('/')?.0))
        });
        (id, rule.cloned().unwrap_or_default())
    }
}

/// Returns whether an invocation failed or, by a notification of an error, may not have checked each file by each rule.
fn has_failed(invocation: &Value) -> bool {
    let notifications = NOTIFICATIONS.iter().filter_map(|name| value_at(invocation, name)?.as_array());
    value_at(invocation, "executionSuccessful") == Some(&Value::Bool(false))
        || notifications.flatten().any(|it| text_at(it, &["level"]).as_deref() == Some("error"))
}

/// Returns the addresses of the files in the list `artifacts` at `at`, by position; empty where none is named. The rest of the list, such
/// as the content of the files, is not kept.
pub(in crate::findings) fn artifact_uris(text: &[u8], at: usize) -> Vec<String> {
    if text.get(at) != Some(&b'[') {
        return Vec::new();
    }
    let uri = |artifact: ItemSpan| {
        let location = split::object_field(text, artifact.bytes.start, "location")?;
        let uri = split::object_field(text, location.start, "uri")
            .filter(|uri| uri.len() <= ARTIFACT_URI_BYTES_MAX)?;
        serde_json::from_slice::<String>(&text[uri]).ok()
    };
    let artifacts = split::array_elements(text, at).into_iter().take(ARTIFACTS_MAX);
    artifacts.map(|artifact| uri(artifact).unwrap_or_default().trim().to_owned()).collect()
}

/// Returns the category in the id of a run, which may end with the time or the number of the run: `nightly/` in `nightly/2026-01-02`.
fn category(id: &str) -> &str {
    let Some((_, last)) = id.rsplit_once('/') else { return id };
    let is_of_run = |char: char| char.is_ascii_hexdigit() || "-_.:+TZ".contains(char);
    let digits = last.chars().filter(char::is_ascii_digit).count();
    if digits >= 2 && last.chars().all(is_of_run) { &id[..id.len() - last.len()] } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_number_of_a_run_is_no_category() {
        for (id, expected) in [
            ("nightly/2026-01-02", "nightly/"),
            ("nightly/", "nightly/"),
            (
                ".github/workflows/codeql.yml:analyze/language:python/",
                ".github/workflows/codeql.yml:analyze/language:python/",
            ),
            ("scan/api", "scan/api"),
            ("scan/web", "scan/web"),
            ("a/f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "a/"),
            ("2026-01-02", "2026-01-02"),
            ("", ""),
        ] {
            assert_eq!(category(id), expected, "{id}");
        }
    }

    #[test]
    fn a_file_is_named_by_its_address_or_by_its_number() {
        let artifacts = br#"[{"location": {"uri": "a.py"}}, {"contents": {}}, 5, {"location": {"uri": " b.py", "index": 3}}]"#;
        let artifacts = artifact_uris(artifacts, 0);
        assert_eq!(artifacts, ["a.py", "", "", "b.py"]);
        assert_eq!(artifact_uris(b"{}", 0), [] as [String; 0]);
        let long = format!("[{{\"location\": {{\"uri\": \"{}\"}}}}]", "a".repeat(ARTIFACT_URI_BYTES_MAX));
        assert_eq!(artifact_uris(long.as_bytes(), 0), [""]);
        let run = SarifRun::default().with_artifacts(artifacts);
        for (location, expected) in [
            (json!({ "uri": "own.py", "index": 0 }), Some("own.py")),
            (json!({ "index": 0 }), Some("a.py")),
            (json!({ "index": 3 }), Some("b.py")),
            (json!({ "index": 1 }), None),
            (json!({ "index": 4 }), None),
            (json!({ "index": -1 }), None),
            (json!({ "uri": " ", "index": 0 }), Some("a.py")),
            (json!({}), None),
        ] {
            assert_eq!(run.uri(&location).as_deref(), expected, "{location}");
        }
    }

    #[test]
    fn runs_of_another_category_or_image_have_another_scope() {
        let scope = |fields: Value| SarifRun::from_fields(|name| fields.get(name).cloned()).scope;
        let tool = json!({ "driver": { "name": "Trivy" } });
        let of = |id: &str, image: &str| {
            scope(
                json!({ "tool": tool, "automationDetails": { "id": id }, "properties": { "imageName": image } }),
            )
        };
        assert_eq!(of("a/1234", "web:1"), of("a/1235", "web:1"));
        assert_ne!(of("a/", "web:1"), of("b/", "web:1"));
        assert_ne!(of("a/", "web:1"), of("a/", "api:1"));
        assert_ne!(of("", ""), scope(json!({ "tool": { "driver": { "name": "Grype" } } })));
    }
}
