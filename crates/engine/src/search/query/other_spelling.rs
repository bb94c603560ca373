//! Warns that an answer is about a different spelling of a name from the one that was asked for.

use std::collections::BTreeSet;

use contract::{Warning, echo};

/// Maximum number of names in a warning.
const NAMES_SHOWN: usize = 3;

/// Returns the warning that an answer is about other spellings than the one that was asked for.
#[must_use]
pub(crate) fn other_spelling<'n>(asked: &str, names: impl IntoIterator<Item = &'n str>) -> Warning {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let shown: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| format!("`{}`", echo(name))).collect();
    let message = format!(
        "Nothing here is named `{}` in this spelling; this is about {}.",
        echo(asked),
        shown.join(" and ")
    );
    let names: Vec<String> = names.iter().take(NAMES_SHOWN).map(|name| echo(name)).collect();
    let details = Some(serde_json::json!({ "asked": echo(asked), "names": names }));
    Warning { details, ..Warning::new("other_spelling", message) }
}
