//! API keys: random, shown once, stored as a hash, with projects, scopes and an expiry.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::principal::{Principal, Projects, Scope};
use contract::{ErrorCode, Fault, ProjectId};
use platform::sha256::{digest, to_hex};
use store::{AuditEntry, KeyRow, Store, api_keys, audit};

/// Prefix of every key, by which people and secret scanners recognise one.
const PREFIX: &str = "poc_";
/// Bytes of the public part; two hexadecimal digits each.
const ID_BYTES: usize = 6;
/// Random bytes of the secret part.
const SECRET_BYTES: usize = 32;
/// Most keys in the cache; when it is full, it is cleared.
const CACHED_KEYS_MAX: usize = 10_000;

/// A key to create.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The operator's name for it.
    pub name: String,
    /// The projects it may use.
    pub projects: Projects,
    /// The kinds of work it may do.
    pub scopes: BTreeSet<Scope>,
    /// Calls per minute; `None`: the server's limit.
    pub calls_per_minute: Option<u32>,
    /// Absolute directories that it may index, within those of the project; `None`: all of these.
    pub roots: Option<Vec<PathBuf>>,
    /// When it expires, milliseconds since the epoch; `None`: never.
    pub expires_ms: Option<i64>,
}

/// A created key.
pub struct IssuedKey {
    /// The key itself, which is shown once and not stored.
    pub secret: String,
    /// The public part, by which it is listed and revoked.
    pub id: String,
}

/// Creates a key, and records that in the audit table with the time `now_ms`.
///
/// # Errors
/// `INTERNAL` when the system gives no random bytes; storage faults.
pub async fn issue_key(store: &Store, new: NewKey, now_ms: i64) -> Result<IssuedKey, Fault> {
    let mut random = [0; ID_BYTES + SECRET_BYTES];
    getrandom::fill(&mut random).map_err(|e| Fault::internal("No random key could be made.", e))?;
    let (id, secret) = random.split_at(ID_BYTES);
    let id = to_hex(id);
    let secret = format!("{PREFIX}{id}_{}", to_hex(secret));
    let projects = match new.projects {
        Projects::All => None,
        Projects::These(ids) => Some(ids.iter().map(|id| id.as_str().to_owned()).collect()),
    };
    let row = KeyRow {
        id: id.clone(),
        name: new.name,
        hash: hash(&secret).to_vec(),
        projects,
        scopes: new.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        calls_per_minute: new.calls_per_minute.map(|calls| i32::try_from(calls).unwrap_or(i32::MAX)),
        roots: new.roots.map(|roots| roots.iter().map(|root| root.to_string_lossy().into_owned()).collect()),
        created_ms: now_ms,
        expires_ms: new.expires_ms,
        revoked_ms: None,
        last_used_ms: None,
        live: true,
    };
    let mut control = store.control().await?;
    api_keys::insert(&mut control, &row).await?;
    audit::append(&mut control, &[audit_entry("keys create", &id, now_ms)]).await?;
    control.commit().await?;
    Ok(IssuedKey { secret, id })
}

/// All keys, oldest first, without their secrets, which are not stored.
///
/// # Errors
/// Storage faults.
pub async fn list_keys(store: &Store) -> Result<Vec<KeyRow>, Fault> {
    let mut control = store.control_read().await?;
    let keys = api_keys::list(&mut control).await?;
    control.commit().await?;
    Ok(keys)
}

/// Revokes a key. Servers that have it in their cache accept it for up to `access.key_cache_ms`.
///
/// # Errors
/// `NOT_FOUND` when there is no such key or it was revoked before; storage faults.
pub async fn revoke_key(store: &Store, id: &str, now_ms: i64) -> Result<(), Fault> {
    let mut control = store.control().await?;
    if !api_keys::revoke(&mut control, id).await? {
        return Err(Fault::new(ErrorCode::NotFound, "The key does not exist or was revoked before.")
            .with_hint("`pairofcleats keys list` shows the ids of all keys."));
    }
    audit::append(&mut control, &[audit_entry("keys revoke", id, now_ms)]).await?;
    control.commit().await
}

fn audit_entry(what: &str, id: &str, at_ms: i64) -> AuditEntry {
    let local = Principal::local();
    AuditEntry {
        at_ms,
        principal: local.id,
        name: format!("{}: key:{id}", local.name),
        surface: "cli",
        tool: what.to_owned(),
        project_id: None,
        outcome: "ok",
        duration_ms: 0.0,
        request_id: None,
        query: None,
    }
}

/// The principals of recently used keys by the hash of the key, each with the time of its look-up.
type KeyCache = HashMap<[u8; 32], (Instant, Arc<Principal>)>;

/// Finds the principals of keys, and caches them for a few seconds.
pub struct Keyring {
    cache_for: Duration,
    cache: Mutex<KeyCache>,
}

impl Keyring {
    /// A keyring that reads a key again after `cache_for`.
    #[must_use]
    pub fn new(cache_for: Duration) -> Self {
        Self { cache_for, cache: Mutex::default() }
    }

    /// Whether a text has the form of a key.
    #[must_use]
    pub fn is_key(text: &str) -> bool {
        id_of(text).is_some()
    }

    /// The principal of a key; `None` when it is unknown, revoked or expired.
    ///
    /// # Errors
    /// Storage faults: a key that cannot be looked up is not accepted.
    pub async fn principal(&self, store: &Store, key: &str) -> Result<Option<Arc<Principal>>, Fault> {
        let Some(id) = id_of(key) else { return Ok(None) };
        let hash = hash(key);
        let now = Instant::now();
        if let Some((since, principal)) = self.with(|cache| cache.get(&hash).cloned())
            && now.duration_since(since) < self.cache_for
        {
            return Ok(Some(principal));
        }
        let mut control = store.control_read().await?;
        let found = api_keys::find(&mut control, id).await?;
        control.commit().await?;
        // The comparison need not be in constant time: a key has 256 random bits and is hashed before.
        let Some(row) = found.filter(|row| row.live && row.hash == hash) else {
            self.with(|cache| cache.remove(&hash));
            return Ok(None);
        };
        record_use(store.clone(), id.to_owned());
        let principal = Arc::new(principal(row)?);
        self.with(|cache| {
            if cache.len() >= CACHED_KEYS_MAX {
                cache.clear();
            }
            cache.insert(hash, (now, Arc::clone(&principal)));
        });
        Ok(Some(principal))
    }

    fn with<T>(&self, act: impl FnOnce(&mut KeyCache) -> T) -> T {
        act(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Records the use of a key in a task of its own, so that the call does not wait for the write.
fn record_use(store: Store, id: String) {
    tokio::spawn(async move {
        let recorded = async {
            let mut control = store.control().await?;
            api_keys::note_use(&mut control, &id).await?;
            control.commit().await
        };
        if let Err(fault) = recorded.await {
            tracing::debug!("the use of a key was not recorded: {}", fault.message);
        }
    });
}

pub(super) fn principal(row: KeyRow) -> Result<Principal, Fault> {
    let projects = match row.projects {
        None => Projects::All,
        Some(ids) => Projects::These(ids.iter().map(|id| ProjectId::parse(id)).collect::<Result<_, _>>()?),
    };
    Ok(Principal {
        id: format!("key:{}", row.id),
        name: row.name,
        projects,
        scopes: row.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect(),
        calls_per_minute: row.calls_per_minute.and_then(|calls| u32::try_from(calls).ok()),
        roots: row.roots.map(|roots| roots.into_iter().map(PathBuf::from).collect()),
        is_local: false,
    })
}

/// The public part of a key, if the text has the form of one.
fn id_of(key: &str) -> Option<&str> {
    let (id, secret) = key.strip_prefix(PREFIX)?.split_once('_')?;
    let hexadecimal = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    (hexadecimal(id, ID_BYTES) && hexadecimal(secret, SECRET_BYTES)).then_some(id)
}

fn hash(key: &str) -> [u8; 32] {
    digest(key.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_has_the_scopes_of_its_row_and_no_other() {
        let row = |scopes: &[&str]| KeyRow {
            id: "0a".repeat(6),
            name: "k".to_owned(),
            hash: Vec::new(),
            projects: None,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            calls_per_minute: None,
            roots: None,
            created_ms: 0,
            expires_ms: None,
            revoked_ms: None,
            last_used_ms: None,
            live: true,
        };
        let scopes = |row| principal(row).unwrap().scopes.into_iter().collect::<Vec<_>>();
        assert_eq!(scopes(row(&["search", "admin"])), [Scope::Search, Scope::Admin]);
        let all = [Scope::Search, Scope::Index, Scope::Triage, Scope::Admin];
        assert_eq!(
            scopes(row(&["search", "index", "triage", "admin"])),
            all,
            "every scope of its day, named"
        );
        assert_eq!(
            scopes(row(&["*", "all", "a-scope-of-a-newer-program"])),
            [],
            "and nothing by other words"
        );
    }

    #[test]
    fn only_keys_are_looked_up() {
        let key = format!("poc_{}_{}", "0a".repeat(6), "f1".repeat(32));
        assert_eq!(id_of(&key), Some("0a0a0a0a0a0a"));
        let upper = key.to_uppercase();
        for other in
            ["", "poc_", "poc_0a0a0a0a0a0a_", "Bearer x", &key[1..], &key[..key.len() - 1], upper.as_str()]
        {
            assert_eq!(id_of(other), None, "{other}");
        }
    }
}
