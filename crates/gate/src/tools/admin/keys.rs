//! `keys/list`, `keys/create`, `keys/revoke`: the API keys, for the page of the operator. The command line changes the same rows
//! without a server, through [`create`] and [`tenancy::revoke_key`].

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{App, Bulkhead};
use crate::tools::spec::run_typed;
use crate::tools::{Call, Effects, ToolSpec, Toolset, schema};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, ProjectId};
use store::{DecidedBy, KeyRow};
use tenancy::{KeyAuthor, NewKey, Principal, Projects, Scope};

/// Longest name of a key.
const NAME_CHARS_MAX: usize = 100;
/// Upper bound of a lifetime, which keeps the sum with the current time in range.
const YEARS_MAX: i64 = 100;

pub(crate) const LIST: ToolSpec = ToolSpec {
    name: "keys/list",
    title: "List the API keys",
    description: "The API keys, without their secrets.",
    toolset: Toolset::ADMIN,
    effects: Effects::READS,
    scope: Scope::Admin,
    bulkhead: Bulkhead::None,
    timeout: |limits| limits.default_ms,
    input: schema::generate_schema::<NoInput>,
    output: schema::generate_output_schema::<KeyList>,
    run: |call, arguments| run_typed(call, arguments, list),
    ..ToolSpec::BASE
};

pub(crate) const CREATE: ToolSpec = ToolSpec {
    name: "keys/create",
    title: "Create an API key",
    description: "Create an API key; the answer is the only place where it is shown.",
    effects: Effects { idempotent: false, ..Effects::WRITES },
    input: schema::generate_schema::<CreateInput>,
    output: schema::generate_output_schema::<CreatedKey>,
    run: |call, arguments| run_typed(call, arguments, create_for_caller),
    ..LIST
};

pub(crate) const REVOKE: ToolSpec = ToolSpec {
    name: "keys/revoke",
    title: "Revoke an API key",
    description: "Revoke an API key for good.",
    effects: Effects { idempotent: false, ..Effects::REMOVES },
    input: schema::generate_schema::<RevokeInput>,
    output: schema::generate_output_schema::<RevokedKey>,
    run: |call, arguments| run_typed(call, arguments, revoke),
    ..LIST
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoInput {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateInput {
    /// Name of the key, for example who uses it and from where.
    #[schemars(length(max = 400))]
    name: String,
    /// Projects that it may use; absent: all, also future ones.
    #[schemars(length(min = 1, max = 1000))]
    projects: Option<Vec<String>>,
    /// Its scopes; only such as the caller has.
    #[schemars(length(min = 1, max = 6), inner(length(max = 32)))]
    scopes: Vec<String>,
    /// Lifetime: 12h, 90d, 52w or never; a key creates none that outlives it.
    #[schemars(length(max = 32))]
    expires: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RevokeInput {
    /// Id of the key, as `keys/list` shows it.
    #[schemars(length(min = 1, max = 64))]
    id: String,
}

/// A created key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CreatedKey {
    /// Its public part.
    pub id: String,
    /// The secret; only its hash is stored.
    pub key: String,
    /// Projects that the key names and that do not exist yet.
    #[serde(rename = "projectsAbsent", default, skip_serializing_if = "Vec::is_empty")]
    pub projects_absent: Vec<String>,
}

/// A key that was revoked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RevokedKey {
    /// Its public part.
    pub id: String,
}

/// All keys.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeyList {
    /// The keys, oldest first.
    pub keys: Vec<KeySummary>,
}

/// A key without its secret.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeySummary {
    /// Its public part.
    pub id: String,
    /// The operator's name for it.
    pub name: String,
    /// `live`, `expired` or `revoked`.
    pub state: String,
    /// Null: all projects.
    pub projects: Option<Vec<String>>,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// Calls per minute; absent: the server's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<i32>,
    /// Directories that it may index; absent: those of its projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<Vec<String>>,
    /// UTC.
    pub created_at: String,
    /// UTC; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// UTC, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
}

impl From<KeyRow> for KeySummary {
    fn from(row: KeyRow) -> Self {
        let state = match (row.live, row.revoked_ms) {
            (true, _) => "live",
            (false, Some(_)) => "revoked",
            (false, None) => "expired",
        };
        Self {
            id: row.id,
            name: row.name,
            state: state.to_owned(),
            projects: row.projects,
            scopes: row.scopes,
            calls_per_minute: row.calls_per_minute,
            roots: row.roots,
            created_at: iso_from_millis(row.created_ms),
            expires_at: row.expires_ms.map(iso_from_millis),
            revoked_at: row.revoked_ms.map(iso_from_millis),
            last_used_at: row.last_used_ms.map(iso_from_millis),
        }
    }
}

/// The keys, oldest first.
pub async fn all(app: &App) -> Result<KeyList, Fault> {
    let rows = tenancy::list_keys(app.store().await?).await?;
    Ok(KeyList { keys: rows.into_iter().map(KeySummary::from).collect() })
}

/// Creates a key; its expiry is `lifetime` from now.
pub async fn create(
    app: &App,
    mut new: NewKey,
    lifetime: Lifetime,
    author: KeyAuthor<'_>,
) -> Result<CreatedKey, Fault> {
    new.name = new.name.trim().to_owned();
    if new.name.is_empty() || new.name.chars().count() > NAME_CHARS_MAX {
        let message = format!("A name must have 1 to {NAME_CHARS_MAX} characters.");
        return Err(Fault::new(ErrorCode::InvalidInput, message));
    }
    let now_ms = app.clock.now().as_millisecond();
    new.expires_ms = lifetime.0.map(|millis| now_ms.saturating_add(millis));
    let named: Vec<ProjectId> = match &new.projects {
        Projects::Only(ids) => ids.iter().cloned().collect(),
        Projects::All => Vec::new(),
    };
    let mut projects_absent = Vec::new();
    for id in named {
        if tenancy::open(app.store().await?, &id, DecidedBy::Argument).await?.is_none() {
            projects_absent.push(id.as_str().to_owned());
        }
    }
    let issued = tenancy::issue_key_as(app.store().await?, new, now_ms, author).await?;
    Ok(CreatedKey { id: issued.id, key: issued.secret, projects_absent })
}

/// The lifetime of a key, in milliseconds; `None` means that it never expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime(Option<i64>);

impl Lifetime {
    /// Reads 12h, 90d, 52w or never.
    ///
    /// # Errors
    /// How to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        const HOUR: i64 = 3_600_000;
        if text == "never" {
            return Ok(Self(None));
        }
        let invalid = || "write it as 12h, 90d, 52w or never".to_owned();
        let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
        let hours = match unit {
            "h" => 1,
            "d" => 24,
            "w" => 7 * 24,
            _ => return Err(invalid()),
        };
        let number: i64 = number.parse().map_err(|_| invalid())?;
        let most = YEARS_MAX * 366 * 24 * HOUR;
        let millis = number.checked_mul(hours * HOUR).filter(|millis| (1..=most).contains(millis));
        millis.map(|millis| Self(Some(millis))).ok_or_else(invalid)
    }
}

async fn list(call: Call, _: NoInput) -> Result<KeyList, Fault> {
    call.require_operator()?;
    all(&call.app).await
}

async fn create_for_caller(call: Call, input: CreateInput) -> Result<CreatedKey, Fault> {
    let principal = require_author(&call)?;
    let lifetime = Lifetime::parse(input.expires.trim()).map_err(|how| {
        let message = format!("The lifetime `{}` cannot be read.", contract::echo(&input.expires));
        Fault::new(ErrorCode::InvalidInput, message).with_hint(format!("Please {how}."))
    })?;
    let projects = match &input.projects {
        None => Projects::All,
        Some(ids) => {
            Projects::Only(ids.iter().map(|id| ProjectId::parse(id)).collect::<Result<BTreeSet<_>, _>>()?)
        }
    };
    let new = NewKey {
        name: input.name,
        projects,
        scopes: granted_scopes(principal, &input.scopes)?,
        calls_per_minute: principal.calls_per_minute,
        roots: principal.roots.clone(),
        expires_ms: None,
    };
    create(&call.app, new, lifetime, author(&call)).await
}

async fn revoke(call: Call, input: RevokeInput) -> Result<RevokedKey, Fault> {
    require_author(&call)?;
    let now_ms = call.app.clock.now().as_millisecond();
    tenancy::revoke_key_as(call.app.store().await?, &input.id, now_ms, author(&call)).await?;
    Ok(RevokedKey { id: input.id })
}

/// The scopes named. A key cannot hand out what it does not have, so that a key for maintenance does not become one that reads code.
fn granted_scopes(principal: &Principal, named: &[String]) -> Result<BTreeSet<Scope>, Fault> {
    let mut scopes = BTreeSet::new();
    for name in named {
        let Some(scope) = Scope::parse(name) else {
            let own: Vec<&str> = principal.scopes.iter().map(|scope| scope.as_str()).collect();
            let message = format!("There is no scope `{}`.", contract::echo(name));
            return Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_hint(format!("Your key can give {}.", own.join(", "))));
        };
        if !principal.has_scope(scope) {
            let message = format!("Your key lacks the scope `{scope}`, so it cannot give it to another.");
            return Err(Fault::new(ErrorCode::Forbidden, message)
                .with_hint("Leave the scope out, or create the key with `pairofcleats keys create`."));
        }
        scopes.insert(scope);
    }
    Ok(scopes)
}

/// Returns the operator who changes keys. On a server that is open to everybody, all callers are refused: a key would outlive the openness.
fn require_author(call: &Call) -> Result<&Principal, Fault> {
    call.require_operator()?;
    let principal: &Principal = &call.caller.principal;
    if principal.is_identified() {
        return Ok(principal);
    }
    Err(Fault::new(ErrorCode::Forbidden, "Keys cannot be changed by a caller without a key.")
        .with_hint("Use `pairofcleats keys` on the machine of the server."))
}

fn author(call: &Call) -> KeyAuthor<'_> {
    KeyAuthor { principal: &call.caller.principal, surface: call.caller.surface.as_str() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit() {
        assert_eq!(Lifetime::parse("12h"), Ok(Lifetime(Some(43_200_000))));
        assert_eq!(Lifetime::parse("90d"), Ok(Lifetime(Some(7_776_000_000))));
        assert_eq!(Lifetime::parse("never"), Ok(Lifetime(None)));
        for bad in ["", "d", "90", "0d", "-1d", "1y", "ä", "99999999999999999w"] {
            assert!(Lifetime::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_gives_only_what_it_has() {
        let admin = Principal { scopes: [Scope::Admin, Scope::Search].into(), ..Principal::local() };
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(granted_scopes(&admin, &named(&["search"])).unwrap(), [Scope::Search].into());
        assert_eq!(granted_scopes(&admin, &named(&["triage"])).unwrap_err().code, ErrorCode::Forbidden);
        assert_eq!(granted_scopes(&admin, &named(&["Search"])).unwrap_err().code, ErrorCode::InvalidInput);
    }
}
