//! Gaps in the answer of a walk: unresolved uses, and relations that languages do not declare.

use std::collections::{BTreeMap, HashSet};

use super::callees::with_inner;
use super::grouping::{TYPES, Target};
use super::implicit::{Gap, Implicit};
use super::navigator::{Navigation, Navigator};
use super::places::{kinds, uses_by_names};
use super::request::Relation;
use ::navigation::incremental::family;
use contract::{Fault, Warning, echo};
use languages::symbols::reports_uses;
use store::navigation::{self, DefinitionAt};
use store::uses;

/// Maximum number of names that a message lists.
const NAMES_SHOWN: usize = 5;

/// Counts the uses of the symbol that are not resolved, and warns of those of the definitions that the walk reached, beyond which the walk
/// is incomplete.
pub(super) async fn of_impact(
    navigator: &mut Navigator<'_>,
    target: &Target,
    is_type: bool,
    reached: &[i64],
    answer: &mut Navigation,
) -> Result<(), Fault> {
    let inner = match is_type {
        true => {
            let symbols = with_inner(navigator, target).await?;
            navigation::definitions_by_symbols(navigator.tx, &symbols).await?
        }
        false => Vec::new(),
    };
    uses_by_names(navigator, target, &inner, answer).await?;
    let known: HashSet<&str> = target.definitions.iter().chain(&inner).map(|row| row.name.as_str()).collect();
    let rows = navigation::definitions_by_symbols(navigator.tx, reached).await?;
    of_operators(target.definitions.iter().chain(&inner).chain(&rows), answer);
    let id = |row: &DefinitionAt| {
        let family = family(row.language.as_deref()?);
        Some(store::symbols::used_name_id(row.repository_id, family, &row.name))
    };
    let others = rows.iter().filter(|row| !known.contains(row.name.as_str()));
    let names: BTreeMap<i64, &str> = others.filter_map(|row| Some((id(row)?, row.name.as_str()))).collect();
    let ids: Vec<i64> = names.keys().copied().collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mask = kinds(navigator.request.kind, Relation::Impact);
    let counts = uses::count_names(navigator.tx, &ids, mask).await?;
    answer.warnings.extend(incomplete(&counts, &names));
    Ok(())
}

/// Warns of the first definition that is an operator whose uses are not recorded, so that it is not taken for unused.
pub(super) fn of_operators<'d>(
    definitions: impl IntoIterator<Item = &'d DefinitionAt>,
    answer: &mut Navigation,
) {
    let unrecorded = definitions.into_iter().find_map(|row| {
        let language = languages::by_name(row.language.as_deref()?)?;
        (!reports_uses(language.id, &row.name, row.signature.as_deref())).then_some((row, language))
    });
    let Some((row, language)) = unrecorded else { return };
    let message = format!(
        "Uses of the operator `{}` in expressions are not recorded in {}, so more code may use it than is counted; `search` with `mode: exact` finds such text.",
        echo(&row.name),
        language.title
    );
    answer.warnings.push(Warning::new("operators_not_recorded", message));
}

/// Returns the warning for names, as (id, places).
fn incomplete(counts: &[(i64, i64)], names: &BTreeMap<i64, &str>) -> Option<Warning> {
    if counts.is_empty() {
        return None;
    }
    let total: i64 = counts.iter().map(|(_, places)| places).sum();
    let shown = counts.iter().take(NAMES_SHOWN);
    let shown: Vec<String> =
        shown.filter_map(|(id, places)| Some(format!("`{}` {places}", echo(names.get(id)?)))).collect();
    let more = if counts.len() > NAMES_SHOWN { ", …" } else { "" };
    let message = format!(
        "{total} uses of the names of {} definitions on the way are not resolved ({}{more}); what they reach may be missing.",
        counts.len(),
        shown.join(", ")
    );
    let details = Some(serde_json::json!({ "uses": total, "definitions": counts.len() }));
    Some(Warning { details, ..Warning::new("impact_incomplete", message) })
}

/// Warns of gaps in the relations that follow from methods alone.
pub(super) fn of_methods(implicit: &Implicit, answer: &mut Navigation) {
    answer.warnings.extend(implicit.gaps.iter().map(|gap| unknown(&implicit.compared, gap)));
}

/// Warns if a kind of definition has no implementations, and of gaps in the relations that follow from methods alone.
pub(super) fn of_implementations(target: &Target, implicit: &Implicit, answer: &mut Navigation) {
    of_methods(implicit, answer);
    let Some(first) = target.first() else { return };
    let kind = first.kind.as_str();
    let name = echo(&first.name);
    let is_type = TYPES.contains(&kind);
    if answer.total == 0 && !is_type && kind != "method" {
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let message = format!(
            "`{name}` is {article} {kind}: types have implementations, and methods may be overridden, but nothing derives from it."
        );
        answer.warnings.push(Warning::new("nothing_derives", message));
    }
}

/// Returns the warning about a gap in the implementations of an interface, or in the interfaces of a type.
fn unknown(compared: &str, gap: &Gap) -> Warning {
    let (name, not_declared) = (echo(compared), "implementations_not_declared");
    let (code, message) = match gap {
        Gap::NoMethods => {
            let message =
                format!("`{name}` demands no methods, so every type implements it, and none is listed.");
            ("interface_without_methods", message)
        }
        Gap::Demanded(embedded) => {
            let message = format!(
                "`{name}` embeds {}, and what that demands is not known here. Types that have all other methods are listed with `certainty: name`.",
                echo(embedded)
            );
            (not_declared, message)
        }
        Gap::OnlyDemanded(embedded) => {
            let message = format!(
                "`{name}` demands only what {} demands, which is not known here, so the types that implement it are not known.",
                echo(embedded)
            );
            (not_declared, message)
        }
        Gap::Undecided(types) => {
            let (types, embed) = match types {
                1 => ("1 type".to_owned(), "embeds"),
                _ => (format!("{types} types"), "embed"),
            };
            let message = format!(
                "{types} with some of the methods of `{name}` {embed} what may have the others, but is not known here."
            );
            (not_declared, message)
        }
        Gap::Had(embedded) => {
            let message = format!(
                "`{name}` embeds {}, whose methods are not known here, so that it may implement more interfaces.",
                echo(embedded)
            );
            (not_declared, message)
        }
        Gap::Truncated => {
            let message = "Not all types and methods that may fit were compared.";
            ("implementations_truncated", message.to_owned())
        }
    };
    Warning::new(code, message)
}
