//! Evaluates gates over the entries of a catalog.

use contract::clock::iso_from_millis;
use regex::{RegexSet, SetMatches};
use schemars::JsonSchema;
use serde::Serialize;

use super::parse::{Expr, Gate, GateSeverity, Gates, part_path};
use crate::entry::Stored;

/// The outcome of all gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateReport {
    /// When they were evaluated, UTC.
    pub generated_at: String,
    /// One result for each gate, in the order of the document.
    pub results: Vec<GateResult>,
    /// How many failed.
    pub summary: GateSummary,
}

/// How many gates failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateSummary {
    /// Failed gates of severity `error`.
    pub errors: usize,
    /// Failed gates of severity `warn`.
    pub warnings: usize,
    /// Evaluated gates.
    pub total: usize,
}

/// The outcome of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateResult {
    /// Id of the gate.
    pub id: String,
    /// What it demands, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is fulfilled.
    pub passed: bool,
    /// Matching entries, or for `all`, `any` and `not` the fulfilled ones of its direct parts.
    pub count: usize,
    /// How `count` is compared with `value`, or `all`, `any` or `not`.
    pub op: &'static str,
    /// What `count` is compared with, or the number of direct parts.
    pub value: usize,
    /// What it means if it is not fulfilled.
    pub severity: GateSeverity,
    /// The parts of `all`, `any` or `not` and the parts of these, each before its own parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<GatePart>>,
}

/// The outcome of a condition inside a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatePart {
    /// Where it stands in the gate: `all[1].not`.
    pub place: String,
    /// Whether it is fulfilled.
    pub passed: bool,
    /// As in the gate's result.
    pub count: usize,
    /// As in the gate's result.
    pub op: &'static str,
    /// As in the gate's result.
    pub value: usize,
}

/// Evaluates `gates` over `entries` at the time `now_ms`, milliseconds since the epoch. It walks the entries once. An entry is
/// lower-cased only if a gate looks for a text in it, and the result is not kept, so that little memory is needed.
#[must_use]
pub fn evaluate<'a>(gates: &Gates, entries: impl IntoIterator<Item = &'a Stored>, now_ms: i64) -> GateReport {
    let counts = matching_entries(gates, entries, now_ms);
    let results: Vec<GateResult> = gates.gates.iter().map(|gate| result(gate, &counts)).collect();
    let failed = |severity| results.iter().filter(|gate| !gate.passed && gate.severity == severity).count();
    let summary = GateSummary {
        errors: failed(GateSeverity::Error),
        warnings: failed(GateSeverity::Warn),
        total: results.len(),
    };
    GateReport { generated_at: iso_from_millis(now_ms), results, summary }
}

/// Counts the entries that pass each filter.
fn matching_entries<'a>(
    gates: &Gates,
    entries: impl IntoIterator<Item = &'a Stored>,
    now_ms: i64,
) -> Vec<usize> {
    let mut counts = vec![0; gates.filters.len()];
    for entry in entries {
        let mut texts = EntryTexts { entry, texts: &gates.texts, found: None };
        for (filter, count) in gates.filters.iter().zip(&mut counts) {
            let matches = filter.matches(&entry.instruction, entry.updated_ms, now_ms)
                && filter.text.is_none_or(|text| texts.contains(text));
            *count += usize::from(matches);
        }
    }
    counts
}

/// The texts that an entry contains; computed when the first filter asks.
struct EntryTexts<'a> {
    entry: &'a Stored,
    texts: &'a RegexSet,
    found: Option<SetMatches>,
}

impl EntryTexts<'_> {
    fn contains(&mut self, text: usize) -> bool {
        let find = || self.texts.matches(&self.entry.instruction.folded());
        self.found.get_or_insert_with(find).matched(text)
    }
}

fn result(gate: &Gate, counts: &[usize]) -> GateResult {
    let mut parts = Vec::new();
    let Outcome { passed, count, op, value } = outcome(&gate.expr, counts, "", &mut parts);
    let parts = (!parts.is_empty()).then_some(parts);
    let Gate { id, description, severity, expr: _ } = gate;
    GateResult {
        id: id.clone(),
        description: description.clone(),
        passed,
        count,
        op,
        value,
        severity: *severity,
        parts,
    }
}

struct Outcome {
    passed: bool,
    count: usize,
    op: &'static str,
    value: usize,
}

/// Evaluates the condition at `path`; the outcomes of its parts go to `parts`. All parts are evaluated, because their number counts.
fn outcome(expr: &Expr, counts: &[usize], path: &str, parts: &mut Vec<GatePart>) -> Outcome {
    match expr {
        Expr::Count { filter, comparison, value } => {
            let count = counts[*filter];
            Outcome { passed: comparison.holds(count, *value), count, op: comparison.as_str(), value: *value }
        }
        Expr::Combined { combinator, parts: conditions } => {
            let mut fulfilled = 0;
            for (at, condition) in conditions.iter().enumerate() {
                let place = part_path(path, *combinator, at);
                let mut nested = Vec::new();
                let Outcome { passed, count, op, value } = outcome(condition, counts, &place, &mut nested);
                fulfilled += usize::from(passed);
                parts.push(GatePart { place, passed, count, op, value });
                parts.append(&mut nested);
            }
            let value = conditions.len();
            Outcome {
                passed: combinator.holds(fulfilled, value),
                count: fulfilled,
                op: combinator.as_str(),
                value,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Instruction, Rules};
    use proptest::prelude::*;
    use schemars::generate::SchemaSettings;
    use serde_json::{Value, json};

    fn entry(id: &str, requirement: &str, priority: u8) -> Stored {
        let entry = json!({ "id": id, "title": format!("Title {id}"), "body": format!("Body\nof {id}: STRASSE"),
            "priority": priority, "audience": "all", "requirement": requirement, "deprecatedBy": "other" });
        let instruction = Instruction::check(entry, &Rules::default()).unwrap().instruction;
        Stored { source_hash: [0; 32], meta_hash: [0; 32], created_ms: 0, updated_ms: 0, instruction }
    }

    fn catalog() -> Vec<Stored> {
        let priorities =
            [("a", "mandatory", 10), ("b", "mandatory", 60), ("c", "optional", 70), ("d", "critical", 50)];
        priorities.map(|(id, requirement, priority)| entry(id, requirement, priority)).into()
    }

    fn report(document: Value, entries: &[Stored]) -> Value {
        let gates = Gates::parse(&document.to_string()).unwrap();
        serde_json::to_value(evaluate(&gates, entries, 86_400_000)).unwrap()
    }

    /// Returns the result of one gate of severity `error` with the fields of `condition`.
    fn result_of(condition: &Value, entries: &[Stored]) -> Value {
        let mut gate = condition.clone();
        gate["id"] = "g".into();
        gate["severity"] = "error".into();
        report(json!({ "gates": [gate] }), entries)["results"][0].take()
    }

    fn count(filter: Value, op: &str, value: usize) -> Value {
        json!({ "type": "count", "where": filter, "op": op, "value": value })
    }

    #[test]
    fn two_gates_are_reported_as_the_specification_says() {
        let document = json!({ "gates": [
            { "id": "mandatory-present", "type": "count", "where": { "requirement": "mandatory" }, "op": ">=", "value": 1,
                "severity": "error", "description": "There is a mandatory entry." },
            { "id": "few-unimportant", "type": "count", "where": { "priorityGt": 50 }, "op": "<=", "value": 1, "severity": "warn" },
        ]});
        let expected = json!({
            "generatedAt": "1970-01-02T00:00:00.000Z",
            "results": [
                { "id": "mandatory-present", "description": "There is a mandatory entry.", "passed": true, "count": 2, "op": ">=",
                    "value": 1, "severity": "error" },
                { "id": "few-unimportant", "passed": false, "count": 2, "op": "<=", "value": 1, "severity": "warn" },
            ],
            "summary": { "errors": 0, "warnings": 1, "total": 2 },
        });
        assert_eq!(report(document.clone(), &catalog()), expected);
        let empty = report(document, &[]);
        assert_eq!(empty["summary"], json!({ "errors": 1, "warnings": 0, "total": 2 }));
    }

    #[test]
    fn each_comparison_holds_where_it_should() {
        for (op, below, equal, above) in [
            (">=", false, true, true),
            (">", false, false, true),
            ("<", true, false, false),
            ("<=", true, true, false),
            ("==", false, true, false),
            ("!=", true, false, true),
        ] {
            for (value, passed) in [(5, below), (4, equal), (3, above)] {
                let result = result_of(&count(json!({}), op, value), &catalog());
                assert_eq!(result["passed"], passed, "4 {op} {value}");
                assert_eq!((&result["op"], &result["count"]), (&json!(op), &json!(4)));
            }
        }
    }

    #[test]
    fn combined_conditions_follow_the_table() {
        let mandatory = |value| count(json!({ "requirement": "mandatory" }), ">=", value);
        let no_deprecated_nor_optional = json!({ "not": { "any": [
            count(json!({ "deprecated": true }), ">", 0), count(json!({ "requirement": "optional" }), ">", 0)] } });
        let gate = json!({ "all": [mandatory(1), no_deprecated_nor_optional] });
        for (requirements, passed, fulfilled) in [
            (&["mandatory"][..], true, 2),
            (&["mandatory", "critical"], true, 2),
            (&["mandatory", "optional"], false, 1),
            (&["mandatory", "deprecated"], false, 1),
            (&["critical"], false, 1),
            (&["optional"], false, 0),
            (&[], false, 1),
        ] {
            let entries: Vec<Stored> =
                requirements.iter().map(|requirement| entry("e", requirement, 1)).collect();
            let result = result_of(&gate, &entries);
            assert_eq!(
                (&result["passed"], &result["count"]),
                (&json!(passed), &json!(fulfilled)),
                "{requirements:?}"
            );
            assert_eq!((&result["op"], &result["value"]), (&json!("all"), &json!(2)));
        }
        let any = |values: [usize; 2]| result_of(&json!({ "any": values.map(mandatory) }), &catalog());
        assert_eq!((&any([1, 3])["passed"], &any([1, 3])["count"]), (&json!(true), &json!(1)));
        assert_eq!((&any([3, 4])["passed"], &any([3, 4])["count"]), (&json!(false), &json!(0)));
        let not = result_of(&json!({ "not": mandatory(3) }), &catalog());
        assert_eq!((&not["passed"], &not["count"], &not["value"]), (&json!(true), &json!(0), &json!(1)));
    }

    #[test]
    fn the_parts_of_a_combined_condition_are_reported_with_their_places() {
        let gate = json!({ "all": [
            count(json!({ "idPrefix": "a" }), "==", 1), { "not": { "any": [count(json!({}), "<", 9), count(json!({}), ">", 9)] } }] });
        let expected = json!([
            { "place": "all[0]", "passed": true, "count": 1, "op": "==", "value": 1 },
            { "place": "all[1]", "passed": false, "count": 1, "op": "not", "value": 1 },
            { "place": "all[1].not", "passed": true, "count": 1, "op": "any", "value": 2 },
            { "place": "all[1].not.any[0]", "passed": true, "count": 4, "op": "<", "value": 9 },
            { "place": "all[1].not.any[1]", "passed": false, "count": 4, "op": ">", "value": 9 },
        ]);
        assert_eq!(result_of(&gate, &catalog())["parts"], expected);
    }

    #[test]
    fn texts_are_found_in_title_and_body_in_any_case() {
        for (text, expected) in
            [("TITLE a", 1), ("strasse", 4), ("OF", 4), ("body\nof b", 1), ("title b\nbody", 1), ("ß", 0)]
        {
            let result = result_of(&count(json!({ "textContains": text }), "==", expected), &catalog());
            assert_eq!(result["count"], expected, "{text}");
        }
        let regex = count(json!({ "textContains": "t.tle" }), "==", 0);
        assert_eq!(result_of(&regex, &catalog())["passed"], true);
        let both = json!({ "all": [count(json!({ "textContains": "title a" }), "==", 1),
            count(json!({ "textContains": "title a", "priorityGt": 10 }), "==", 0)] });
        assert_eq!(result_of(&both, &catalog())["passed"], true);
    }

    #[test]
    fn the_age_of_entries_counts_back_from_now() {
        let gates = json!({ "gates": [{ "id": "stale", "severity": "warn", "type": "count",
            "where": { "updatedBeforeDays": 30 }, "op": "==", "value": 0 }] });
        let gates = Gates::parse(&gates.to_string()).unwrap();
        let at = |days: i64| evaluate(&gates, &catalog(), days * 86_400_000).results[0].count;
        assert_eq!((at(30), at(31)), (0, 4));
        assert_eq!(evaluate(&gates, &catalog(), i64::MIN).results[0].count, 0);
    }

    #[test]
    fn the_schema_has_no_references() {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.inline_subschemas = true;
        let schema = settings.into_generator().into_root_schema_for::<GateReport>().to_value().to_string();
        assert!(!schema.contains("$ref") && schema.contains("generatedAt"), "{schema}");
    }

    fn condition() -> impl Strategy<Value = Value> {
        let op = prop::sample::select(vec![">=", ">", "<", "<=", "==", "!="]);
        let leaf = (0u8..=100, op, 0usize..5)
            .prop_map(|(priority, op, value)| count(json!({ "priorityGt": priority }), op, value));
        leaf.prop_recursive(3, 20, 3, |inner| {
            let parts = prop::collection::vec(inner.clone(), 1..4);
            prop_oneof![
                parts.clone().prop_map(|parts| json!({ "all": parts })),
                parts.prop_map(|parts| json!({ "any": parts })),
                inner.prop_map(|part| json!({ "not": part })),
            ]
        })
    }

    proptest! {
        #[test]
        fn combinators_follow_the_laws_of_logic(
            parts in prop::collection::vec(condition(), 1..4), priorities in prop::collection::vec(1u8..=100, 0..6),
        ) {
            let entries: Vec<Stored> = priorities.into_iter().map(|priority| entry("e", "optional", priority)).collect();
            let passed = |condition: Value| result_of(&condition, &entries)["passed"].clone();
            let negated: Vec<Value> = parts.iter().map(|part| json!({ "not": part })).collect();
            prop_assert_eq!(passed(json!({ "not": { "any": &parts } })), passed(json!({ "all": &negated })));
            prop_assert_eq!(passed(json!({ "not": { "all": &parts } })), passed(json!({ "any": negated })));
            prop_assert_eq!(passed(json!({ "not": { "not": &parts[0] } })), passed(parts[0].clone()));
        }
    }
}
