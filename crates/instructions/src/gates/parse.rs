//! Parses the document of gates. All of it is checked when it is read, so that no gate passes because of a mistake in it.

use regex::{RegexSet, RegexSetBuilder};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::filter::Filter;
use crate::document::{Fields, parse};

const GATES_MAX: usize = 200;
const NODES_MAX: usize = 64;
const DEPTH_MAX: usize = 8;
const VALUE_MAX: i64 = 1_000_000;
/// Memory limit of the compiled texts, in bytes; a document of the largest size needs less.
const TEXTS_COMPILED_BYTES_MAX: usize = 32 << 20;

/// What a failed gate means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateSeverity {
    /// The catalog must not stay so.
    Error,
    /// Somebody should look at it.
    Warn,
}

/// A comparison of a count with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    AtLeast,
    Above,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Comparison {
    const NAMES: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        (">", Self::Above),
        ("<", Self::Below),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
    ];

    pub(super) fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, comparison)| *comparison == self).map_or("", |(name, _)| name)
    }

    pub(super) fn holds(self, count: usize, value: usize) -> bool {
        match self {
            Self::AtLeast => count >= value,
            Self::Above => count > value,
            Self::Below => count < value,
            Self::AtMost => count <= value,
            Self::Equal => count == value,
            Self::Unequal => count != value,
        }
    }
}

/// The way in which the parts of a condition are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combinator {
    All,
    Any,
    Not,
}

impl Combinator {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Any => "any",
            Self::Not => "not",
        }
    }

    /// Checks whether it holds if `fulfilled` of `parts` hold.
    pub(super) fn holds(self, fulfilled: usize, parts: usize) -> bool {
        match self {
            Self::All => fulfilled == parts,
            Self::Any => fulfilled > 0,
            Self::Not => fulfilled == 0,
        }
    }
}

/// A condition on the catalog.
#[derive(Debug)]
pub(super) enum Expr {
    /// Compares the number of entries that pass the filter of this index.
    Count { filter: usize, comparison: Comparison, value: usize },
    /// Combines conditions; at least one, and exactly one for `not`.
    Combined { combinator: Combinator, parts: Vec<Expr> },
}

/// A gate.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) severity: GateSeverity,
    pub(super) expr: Expr,
}

/// A checked document of gates. To share it, put it into an `Arc`.
#[derive(Debug)]
pub struct Gates {
    pub(super) gates: Vec<Gate>,
    /// The filters of all counts of all gates.
    pub(super) filters: Vec<Filter>,
    /// The distinct texts that filters look for, in lower case. One pass over an entry finds all of them.
    pub(super) texts: RegexSet,
}

impl Gates {
    /// Reads and checks a document of gates, at most 256 KiB of JSON.
    ///
    /// # Errors
    /// The first mistake, as one sentence that names the gate and the place in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        const WHAT: &str = "The document of gates";
        let mut document = Fields::new(parse(text, WHAT)?, WHAT.into())?;
        let given = document.list("gates")?;
        let given = document.required("gates", given)?;
        document.finish(&["gates"])?;
        if given.len() > GATES_MAX {
            return Err(format!("{WHAT} has {} gates; at most {GATES_MAX} are allowed.", given.len()));
        }
        let mut counted = Counted::default();
        let mut gates: Vec<Gate> = Vec::with_capacity(given.len());
        for (at, gate) in given.into_iter().enumerate() {
            let gate = read_gate(gate, at + 1, &mut counted)?;
            if gates.iter().any(|earlier| earlier.id == gate.id) {
                return Err(format!("Gate \"{}\": this id is used more than once.", gate.id));
            }
            gates.push(gate);
        }
        let texts = RegexSetBuilder::new(counted.texts.iter().map(|text| regex::escape(text)))
            .size_limit(TEXTS_COMPILED_BYTES_MAX)
            .build()
            .map_err(|_| format!("{WHAT}: the texts in `textContains` are too long together."))?;
        Ok(Self { gates, filters: counted.filters, texts })
    }
}

/// Filters and texts that the counts of all gates refer to, collected while the document is read.
#[derive(Default)]
struct Counted {
    filters: Vec<Filter>,
    texts: Vec<String>,
}

fn read_gate(value: Value, number: usize, counted: &mut Counted) -> Result<Gate, String> {
    let mut fields = Fields::new(value, format!("Gate #{number}"))?;
    let id = fields.id()?;
    let place = format!("Gate \"{id}\"");
    fields.set_place(place.clone());
    let description = fields.prose("description")?;
    let severity =
        fields.choice("severity", &[("error", GateSeverity::Error), ("warn", GateSeverity::Warn)])?;
    let severity = fields.required("severity", severity)?;
    let mut reader = ExprReader { counted, gate: &place, nodes: 0 };
    let expr = reader.read(fields, "", &["id", "description", "severity"], 1)?;
    Ok(Gate { id, description, severity, expr })
}

/// Reads the condition of one gate.
struct ExprReader<'a> {
    counted: &'a mut Counted,
    /// The name of the gate in errors.
    gate: &'a str,
    nodes: usize,
}

impl ExprReader<'_> {
    /// Reads the condition at `path` within the gate. `beside` are the fields that are allowed beside it.
    fn read(
        &mut self,
        mut fields: Fields,
        path: &str,
        beside: &[&str],
        depth: usize,
    ) -> Result<Expr, String> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(fields.error(&format!("the gate has more than {NODES_MAX} conditions.")));
        }
        if depth > DEPTH_MAX {
            return Err(fields.error(&format!("conditions are nested more than {DEPTH_MAX} deep.")));
        }
        let forms = ["type", "all", "any", "not"].map(|form| fields.has(form));
        if forms.iter().filter(|present| **present).count() != 1 {
            return Err(
                fields.error("a condition has exactly one of `type` (\"count\"), `all`, `any` and `not`.")
            );
        }
        let [is_count, is_all, is_any, _] = forms;
        if is_count {
            return self.count(fields, beside);
        }
        let (combinator, form) = match (is_all, is_any) {
            (true, _) => (Combinator::All, "all"),
            (_, true) => (Combinator::Any, "any"),
            _ => (Combinator::Not, "not"),
        };
        let given = parts(&mut fields, combinator)?;
        fields.finish(&[beside, &[form]].concat())?;
        let mut parts = Vec::new();
        for (at, part) in given.into_iter().enumerate() {
            let path = part_path(path, combinator, at);
            let fields = Fields::new(part, format!("{}, {path}", self.gate))?;
            parts.push(self.read(fields, &path, &[], depth + 1)?);
        }
        Ok(Expr::Combined { combinator, parts })
    }

    fn count(&mut self, mut fields: Fields, beside: &[&str]) -> Result<Expr, String> {
        fields.choice("type", &[("count", ())])?;
        let filter = fields.value("where");
        let comparison = fields.choice("op", &Comparison::NAMES)?;
        let comparison = fields.required("op", comparison)?;
        let value = fields.integer("value", 0..=VALUE_MAX)?;
        let value = fields.required("value", value)?;
        let separator = if fields.place() == self.gate { ", " } else { "." };
        let place = format!("{}{separator}where", fields.place());
        fields.finish(&[beside, &["type", "where", "op", "value"]].concat())?;
        let filter = Fields::new(filter.unwrap_or_else(|| Value::Object(Map::new())), place)?;
        let filter = Filter::read(filter, &mut self.counted.texts)?;
        self.counted.filters.push(filter);
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        Ok(Expr::Count { filter: self.counted.filters.len() - 1, comparison, value })
    }
}

/// Returns the place of a part of a combined condition within its gate: `all[1].not`.
pub(super) fn part_path(parent: &str, combinator: Combinator, at: usize) -> String {
    let separator = if parent.is_empty() { "" } else { "." };
    match combinator {
        Combinator::Not => format!("{parent}{separator}not"),
        _ => format!("{parent}{separator}{}[{at}]", combinator.as_str()),
    }
}

/// Takes the parts of a combined condition, not yet read. Without parts `all` would always hold, so that is refused.
fn parts(fields: &mut Fields, combinator: Combinator) -> Result<Vec<Value>, String> {
    if combinator == Combinator::Not {
        return Ok(fields.value("not").into_iter().collect());
    }
    let form = combinator.as_str();
    match fields.list(form)? {
        Some(parts) if !parts.is_empty() => Ok(parts),
        _ => Err(fields.error(&format!("`{form}` needs at least one condition."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(document: &Value) -> Result<Gates, String> {
        Gates::parse(&document.to_string())
    }

    fn count() -> Value {
        json!({ "type": "count", "op": ">=", "value": 1 })
    }

    /// Makes a document with one gate that has the fields of `condition`.
    fn gate(mut condition: Value) -> Value {
        condition["id"] = "g".into();
        condition["severity"] = "error".into();
        json!({ "gates": [condition] })
    }

    #[test]
    fn each_mistake_names_the_gate_and_the_place() {
        let with = |field: &str, value: Value| {
            let mut condition = count();
            condition[field] = value;
            condition
        };
        for (condition, expected) in [
            (
                with("op", json!("=>")),
                "Gate \"g\": `op` is \"=>\", but must be one of: >=, >, <, <=, ==, !=.",
            ),
            (with("op", json!("all")), "Gate \"g\": `op` is \"all\""),
            (with("value", json!(-1)), "Gate \"g\": `value` must be an integer from 0 to 1000000."),
            (with("value", json!(1.5)), "Gate \"g\": `value` must be an integer"),
            (with("type", json!("sum")), "Gate \"g\": `type` is \"sum\", but must be one of: count."),
            (
                with("extra", json!(1)),
                "Gate \"g\": `extra` is not allowed here; allowed are: id, description, severity, type",
            ),
            (with("all", json!([count()])), "Gate \"g\": a condition has exactly one of"),
            (with("where", json!({ "priorityGt": "1" })), "Gate \"g\", where: `priorityGt` must be"),
            (with("where", json!(null)), "Gate \"g\", where must be an object."),
            (json!({ "op": ">=", "value": 1 }), "Gate \"g\": a condition has exactly one of"),
            (json!({ "type": "count", "value": 1 }), "Gate \"g\": `op` is missing."),
            (json!({ "type": "count", "op": ">=" }), "Gate \"g\": `value` is missing."),
            (json!({ "all": [] }), "Gate \"g\": `all` needs at least one condition."),
            (json!({ "any": [] }), "Gate \"g\": `any` needs at least one condition."),
            (json!({ "any": count() }), "Gate \"g\": `any` must be a list."),
            (json!({ "not": [count()] }), "Gate \"g\", not must be an object."),
            (json!({ "not": null }), "Gate \"g\", not must be an object."),
            (json!({ "all": [count()], "op": ">=" }), "Gate \"g\": `op` is not allowed here"),
            (
                json!({ "all": [count(), with("id", json!("x"))] }),
                "Gate \"g\", all[1]: `id` is not allowed here",
            ),
            (
                json!({ "all": [count(), { "not": { "any": [with("where", json!({ "owner": 1 }))] } }] }),
                "Gate \"g\", all[1].not.any[0].where: `owner` is not allowed here",
            ),
            (with("description", json!("")), "Gate \"g\": `description` is empty."),
        ] {
            let error = parse(&gate(condition.clone())).unwrap_err();
            assert!(error.starts_with(expected), "{condition}: {error}");
        }
        assert!(parse(&gate(count())).is_ok());
    }

    #[test]
    fn each_mistake_in_a_document_is_reported() {
        let named = |id: &str, severity: &str| {
            let mut gate = count();
            gate["id"] = id.into();
            gate["severity"] = severity.into();
            gate
        };
        for (document, expected) in [
            (json!([]), "The document of gates must be an object."),
            (json!({}), "The document of gates: `gates` is missing."),
            (json!({ "gates": {} }), "The document of gates: `gates` must be a list."),
            (json!({ "gates": [], "version": 1 }), "The document of gates: `version` is not allowed here"),
            (json!({ "gates": [1] }), "Gate #1 must be an object."),
            (json!({ "gates": [named("a", "warn"), count()] }), "Gate #2: `id` is missing."),
            (json!({ "gates": [named("a b", "warn")] }), "Gate #1: `id` is \"a b\", but must be"),
            (
                json!({ "gates": [named("a", "fatal")] }),
                "Gate \"a\": `severity` is \"fatal\", but must be one of: error, warn.",
            ),
            (
                json!({ "gates": [named("a", "warn"), named("b", "warn"), named("a", "error")] }),
                "Gate \"a\": this id is used more than once.",
            ),
        ] {
            let error = parse(&document).unwrap_err();
            assert!(error.starts_with(expected), "{document}: {error}");
        }
        let twice = r#"{"gates":[{"id":"a","severity":"warn","type":"count","op":">=","op":"<","value":1}]}"#;
        assert!(Gates::parse(twice).unwrap_err().contains("the member `op` twice"));
        assert!(Gates::parse("{").unwrap_err().starts_with("The document of gates is not valid JSON"));
        assert!(Gates::parse(&" ".repeat(262_145)).unwrap_err().contains("at most 262144 are allowed"));
    }

    #[test]
    fn depth_and_number_of_conditions_and_gates_are_bounded() {
        let nested = |depth: usize| (1..depth).fold(count(), |inner, _| json!({ "not": inner }));
        assert!(parse(&gate(nested(8))).is_ok());
        let error = parse(&gate(nested(9))).unwrap_err();
        assert!(error.ends_with("not.not.not.not: conditions are nested more than 8 deep."), "{error}");

        let wide = |parts: usize| json!({ "any": vec![count(); parts] });
        assert!(parse(&gate(wide(63))).is_ok());
        assert_eq!(
            parse(&gate(wide(64))).unwrap_err(),
            "Gate \"g\", any[63]: the gate has more than 64 conditions."
        );

        let many = |gates: usize| {
            let gates = (0..gates).map(|number| {
                let mut gate = gate(count())["gates"][0].take();
                gate["id"] = number.to_string().into();
                gate
            });
            json!({ "gates": gates.collect::<Vec<_>>() })
        };
        assert!(parse(&many(200)).is_ok());
        let error = parse(&many(201)).unwrap_err();
        assert_eq!(error, "The document of gates has 201 gates; at most 200 are allowed.");
    }

    #[test]
    fn a_document_may_have_no_gates() {
        assert!(Gates::parse(r#"{"gates":[]}"#).unwrap().gates.is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"[\[\]{}:,"a-z0-9]{0,80}"#, at in 0usize..200, other in any::<char>()) {
            drop(Gates::parse(&text));
            let mut damaged: Vec<char> = gate(json!({ "all": [count(), { "not": count() }] })).to_string().chars().collect();
            let at = at % damaged.len();
            damaged[at] = other;
            drop(Gates::parse(&damaged.into_iter().collect::<String>()));
        }
    }
}
