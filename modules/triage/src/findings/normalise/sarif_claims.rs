//! Identity of a result of a SARIF log: its fingerprints, the code that it quotes, or its place.

use serde_json::Value;

use crate::findings::identity::{Claims, can_identify};
use crate::findings::json_path::{text_at, value_at};
use crate::findings::record::Location;

/// Partial fingerprints that say who changed the code, not which result it is.
const PROVENANCE: &[&str] = &["commitSha", "commitMessage", "author", "email", "date"];
/// The partial fingerprint by which code hosts recognise a result: a hash of the line and its surroundings.
const LINE_HASH: &str = "primaryLocationLineHash";
/// Maximum number of fingerprints of a result that are claims of their own.
const FINGERPRINTS_MAX: usize = 4;

/// Returns the claims of a result. `tool` and `rule` are their names, `message` is its text, and `former` are the locations as older
/// programs read them; the records of these programs are recognised by them.
pub(super) fn result_claims(
    item: &Value,
    (tool, rule): (&str, Option<&str>),
    (locations, former): (&[Location], &[Location]),
    message: Option<&str>,
) -> Claims {
    let mut readings = vec![locations.first(), former.first()];
    readings.dedup();
    let logical = text_at(
        item,
        &["locations.0.logicalLocations.0.fullyQualifiedName", "locations.0.logicalLocations.0.name"],
    );
    let file_of =
        |first: Option<&Location>| first.map(|first| first.path.clone()).or_else(|| logical.clone());
    let whole = fingerprints(item, "fingerprints");
    let partial = fingerprints(item, "partialFingerprints");
    let mut claims = Claims::default();
    claims.add("correlation", &[text_at(item, &["correlationGuid"]).as_deref(), rule]);
    for first in &readings {
        let file = file_of(*first);
        for (name, value) in whole.iter().take(FINGERPRINTS_MAX) {
            claims.add("fingerprint", &[Some(value), Some(name), rule, file.as_deref()]);
        }
        claims.add("partial fingerprints", &[printed(&partial).as_deref(), rule, file.as_deref()]);
        let line_hash = partial.iter().find(|(name, _)| name == LINE_HASH);
        claims.add("line", &[line_hash.map(|(_, value)| value.as_str()), rule, file.as_deref()]);
    }
    claims.add("guid", &[text_at(item, &["guid"]).as_deref(), rule]);
    for first in &readings {
        let file = file_of(*first);
        claims.add("code", &[quoted_code(item).as_deref(), rule, file.as_deref(), message]);
        // A result with another fingerprint in the same place is another result.
        let prints = printed(&whole).or_else(|| printed(&partial));
        let place = first.map(|it| format!("{:?}:{:?}", it.start_line, it.start_column));
        let place = [file.as_deref(), rule, place.as_deref(), prints.as_deref(), logical.as_deref()];
        let headline = message.and_then(|message| message.lines().next());
        claims.add("headline", &[place[0], place[1], place[2], place[3], place[4], headline]);
        claims.add("place", &place);
    }
    let region = value_at(item, "locations.0.physicalLocation.region").map(Value::to_string);
    let raw =
        ["fingerprints", "partialFingerprints"].map(|field| value_at(item, field).map(Value::to_string));
    claims.add_facts(&[
        rule,
        message,
        region.as_deref(),
        raw[0].as_deref(),
        raw[1].as_deref(),
        logical.as_deref(),
    ]);
    claims.set_former_key(former_key(item, (tool, rule), former));
    claims
}

/// Returns the fingerprints of a field that can identify a result, by name.
fn fingerprints(item: &Value, field: &str) -> Vec<(String, String)> {
    let values = value_at(item, field).and_then(Value::as_object).into_iter().flatten();
    let usable = |(name, value): (&String, &Value)| {
        let value = value.as_str()?;
        (can_identify(value) && !PROVENANCE.contains(&name.as_str()))
            .then(|| (name.clone(), value.to_owned()))
    };
    let mut prints: Vec<(String, String)> = values.filter_map(usable).collect();
    prints.sort();
    prints
}

fn printed(prints: &[(String, String)]) -> Option<String> {
    let texts: Vec<String> = prints.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!texts.is_empty()).then(|| texts.join(";"))
}

/// Returns the code that a result quotes, without the spaces at its ends.
fn quoted_code(item: &Value) -> Option<String> {
    text_at(
        item,
        &[
            "locations.0.physicalLocation.region.snippet.text",
            "locations.0.physicalLocation.contextRegion.snippet.text",
        ],
    )
    .filter(|code| can_identify(&code.replace(char::is_whitespace, "")))
}

/// Returns the key of older programs: the fingerprints, otherwise the id, otherwise the line, with rule and file.
fn former_key(item: &Value, (tool, rule): (&str, Option<&str>), locations: &[Location]) -> Option<String> {
    let fingerprints = |field: &str| {
        let values = value_at(item, field)?.as_object()?;
        let mut prints: Vec<String> =
            values.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?))).collect();
        prints.sort();
        (!prints.is_empty()).then(|| prints.join(";"))
    };
    let first = locations.first();
    let identity = fingerprints("partialFingerprints")
        .or_else(|| fingerprints("fingerprints"))
        .or_else(|| text_at(item, &["correlationGuid", "guid"]))
        .or_else(|| first.map(|first| format!("{}:{}", first.path, first.start_line.unwrap_or(0))))?;
    let file = first.map_or("", |first| first.path.as_str());
    Some(format!("{tool}:{}:{file}:{identity}", rule.unwrap_or_default()))
}
