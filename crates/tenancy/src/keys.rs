//! API keys. A key is random, is shown once and stored as a hash, and has projects, scopes and an expiry.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::principal::{Principal, Projects, Scope};
use contract::clock::iso_from_millis;
use contract::{ErrorCode, Fault, ProjectId};
use platform::sha256::{digest, to_hex};
use store::{AuditEntry, ControlTx, KeyRow, Store, api_keys, audit};

/// Prefix of every key; people and secret scanners recognise keys by it.
const PREFIX: &str = "poc_";
/// Prefix of the ids of principals that are keys.
const PRINCIPAL_PREFIX: &str = "key:";
/// Bytes of the public part; two hexadecimal digits each.
const ID_BYTES: usize = 6;
/// Random bytes of the secret part.
const SECRET_BYTES: usize = 32;
/// Maximum number of keys in the cache. A full cache is cleared.
const CACHED_KEYS_MAX: usize = 10_000;

/// A key to create.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// The operator's name for it.
    pub name: String,
    /// The projects it may use.
    pub projects: Projects,
    /// Its permissions.
    pub scopes: BTreeSet<Scope>,
    /// Maximum calls per minute; `None` for the server's limit.
    pub calls_per_minute: Option<u32>,
    /// Absolute directories that it may index, within those of the project; `None` for all of them.
    pub roots: Option<Vec<PathBuf>>,
    /// Time of its expiry, milliseconds since the epoch; `None` for never.
    pub expires_ms: Option<i64>,
}

/// A created key.
pub struct IssuedKey {
    /// The key itself, which is shown once and not stored.
    pub secret: String,
    /// The public part; the key is listed and revoked by it.
    pub id: String,
}

/// The author of a change to a key, for the audit table.
#[derive(Debug, Clone, Copy)]
pub struct KeyAuthor<'a> {
    /// The principal.
    pub principal: &'a Principal,
    /// `cli` or `http`.
    pub surface: &'static str,
}

/// Creates a key at `now_ms` for the operator at the command line; see [`issue_key_as`].
///
/// # Errors
/// As [`issue_key_as`].
pub async fn issue_key(store: &Store, new: NewKey, now_ms: i64) -> Result<IssuedKey, Fault> {
    let local = Principal::local();
    issue_key_as(store, new, now_ms, KeyAuthor { principal: &local, surface: "cli" }).await
}

/// Creates a key at `now_ms`, with an entry in the audit table. One that a key creates ends no later than that key.
///
/// # Errors
/// `UNAUTHORIZED` if the author's key was revoked or has expired; `INVALID_INPUT` if it would end earlier than the new one;
/// `INTERNAL` if the system provides no random bytes; storage faults.
pub async fn issue_key_as(
    store: &Store,
    new: NewKey,
    now_ms: i64,
    author: KeyAuthor<'_>,
) -> Result<IssuedKey, Fault> {
    let mut random = [0; ID_BYTES + SECRET_BYTES];
    getrandom::fill(&mut random).map_err(|e| Fault::internal("No random key could be generated.", e))?;
    let (id, secret) = random.split_at(ID_BYTES);
    let id = to_hex(id);
    let secret = format!("{PREFIX}{id}_{}", to_hex(secret));
    let projects = match new.projects {
        Projects::All => None,
        Projects::Only(ids) => Some(ids.iter().map(|id| id.as_str().to_owned()).collect()),
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
    let authors_end_ms = lock_author(&mut control, author).await?;
    require_end_within(row.expires_ms, authors_end_ms)?;
    api_keys::insert(&mut control, &row).await?;
    audit::append(&mut control, &[audit_entry(author, "keys create", &id, now_ms)]).await?;
    control.commit().await?;
    Ok(IssuedKey { secret, id })
}

/// Returns all keys, oldest first. Their secrets are not stored.
///
/// # Errors
/// Storage faults.
pub async fn list_keys(store: &Store) -> Result<Vec<KeyRow>, Fault> {
    let mut control = store.control_read().await?;
    let keys = api_keys::list(&mut control).await?;
    control.commit().await?;
    Ok(keys)
}

/// Revokes a key for the operator at the command line; see [`revoke_key_as`].
///
/// # Errors
/// As [`revoke_key_as`].
pub async fn revoke_key(store: &Store, id: &str, now_ms: i64) -> Result<(), Fault> {
    let local = Principal::local();
    revoke_key_as(store, id, now_ms, KeyAuthor { principal: &local, surface: "cli" }).await
}

/// Revokes a key. Servers that have it in their cache accept it for up to `access.key_cache_ms`, but from now on it neither creates
/// nor revokes keys. A key may revoke itself.
///
/// # Errors
/// `UNAUTHORIZED` if the author's key was revoked or has expired; `NOT_FOUND` when there is no such key or it was revoked before;
/// storage faults.
pub async fn revoke_key_as(store: &Store, id: &str, now_ms: i64, author: KeyAuthor<'_>) -> Result<(), Fault> {
    let mut control = store.control().await?;
    lock_author(&mut control, author).await?;
    if !api_keys::revoke(&mut control, id).await? {
        return Err(Fault::new(ErrorCode::NotFound, "The key does not exist or was revoked before.")
            .with_hint("`pairofcleats keys list` shows the ids of all keys."));
    }
    audit::append(&mut control, &[audit_entry(author, "keys revoke", id, now_ms)]).await?;
    control.commit().await
}

/// Checks that the author's own key is still valid, regardless of caches, and keeps it valid until the transaction ends. Returns the time
/// when the key expires, if it does; other authors have no key.
async fn lock_author(control: &mut ControlTx, author: KeyAuthor<'_>) -> Result<Option<i64>, Fault> {
    let Some(id) = author.principal.id.strip_prefix(PRINCIPAL_PREFIX) else { return Ok(None) };
    match api_keys::find_locked(control, id).await? {
        Some(row) if row.live => Ok(row.expires_ms),
        _ => Err(Fault::new(ErrorCode::Unauthorized, "The key was revoked or has expired.")
            .with_hint("Use another key, or `pairofcleats keys` on the machine of the server.")),
    }
}

/// Checks that a new key does not outlive the key that creates it.
fn require_end_within(end_ms: Option<i64>, authors_end_ms: Option<i64>) -> Result<(), Fault> {
    match (end_ms, authors_end_ms) {
        (_, None) => Ok(()),
        (Some(end), Some(authors_end)) if end <= authors_end => Ok(()),
        (_, Some(authors_end)) => {
            let hint =
                format!("Choose a shorter lifetime: your key expires at {}.", iso_from_millis(authors_end));
            Err(Fault::new(ErrorCode::InvalidInput, "A key cannot live longer than the key that creates it.")
                .with_hint(hint))
        }
    }
}

fn audit_entry(author: KeyAuthor<'_>, command: &str, id: &str, at_ms: i64) -> AuditEntry {
    AuditEntry {
        at_ms,
        principal: author.principal.id.clone(),
        name: format!("{}: key:{id}", author.principal.name),
        surface: author.surface,
        tool: command.to_owned(),
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
    /// Creates a keyring that reads a key again after `cache_for`.
    #[must_use]
    pub fn new(cache_for: Duration) -> Self {
        Self { cache_for, cache: Mutex::default() }
    }

    /// Returns `true` if `text` has the format of a key.
    #[must_use]
    pub fn is_key(text: &str) -> bool {
        id_of(text).is_some()
    }

    /// The id of the principal that a text claims to be the key of; `None` if it does not have the format of a key.
    #[must_use]
    pub fn public_id(text: &str) -> Option<String> {
        id_of(text).map(|id| format!("{PRINCIPAL_PREFIX}{id}"))
    }

    /// Finds the principal of a key; `None` if the key is unknown, revoked or expired.
    ///
    /// # Errors
    /// Storage faults: a key that cannot be looked up is not accepted.
    pub async fn principal(&self, store: &Store, key: &str) -> Result<Option<Arc<Principal>>, Fault> {
        let Some(id) = id_of(key) else { return Ok(None) };
        let hash = hash(key);
        let now = Instant::now();
        if let Some((looked_up_at, principal)) = self.with_cache(|cache| cache.get(&hash).cloned())
            && now.duration_since(looked_up_at) < self.cache_for
        {
            return Ok(Some(principal));
        }
        let mut control = store.control_read().await?;
        let found = api_keys::find(&mut control, id).await?;
        control.commit().await?;
        // The comparison need not take constant time: a key has 256 random bits, and its hash is compared.
        let Some(row) = found.filter(|row| row.live && row.hash == hash) else {
            self.with_cache(|cache| cache.remove(&hash));
            return Ok(None);
        };
        record_use(store.clone(), id.to_owned());
        let principal = Arc::new(principal_of(row)?);
        self.with_cache(|cache| {
            if cache.len() >= CACHED_KEYS_MAX {
                cache.clear();
            }
            cache.insert(hash, (now, Arc::clone(&principal)));
        });
        Ok(Some(principal))
    }

    fn with_cache<T>(&self, act: impl FnOnce(&mut KeyCache) -> T) -> T {
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

/// The principal of a stored key.
pub(super) fn principal_of(row: KeyRow) -> Result<Principal, Fault> {
    let projects = match row.projects {
        None => Projects::All,
        Some(ids) => Projects::Only(ids.iter().map(|id| ProjectId::parse(id)).collect::<Result<_, _>>()?),
    };
    Ok(Principal {
        id: format!("{PRINCIPAL_PREFIX}{}", row.id),
        name: row.name,
        projects,
        scopes: row.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect(),
        calls_per_minute: row.calls_per_minute.and_then(|calls| u32::try_from(calls).ok()),
        roots: row.roots.map(|roots| roots.into_iter().map(PathBuf::from).collect()),
        is_local: false,
    })
}

/// The public part of a key; `None` if the text does not have the format of a key.
fn id_of(key: &str) -> Option<&str> {
    let (id, secret) = key.strip_prefix(PREFIX)?.split_once('_')?;
    let is_hex = |text: &str, bytes: usize| {
        text.len() == 2 * bytes && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    (is_hex(id, ID_BYTES) && is_hex(secret, SECRET_BYTES)).then_some(id)
}

fn hash(key: &str) -> [u8; 32] {
    digest(key.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_has_exactly_the_scopes_of_its_row() {
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
        let scopes = |row| principal_of(row).unwrap().scopes.into_iter().collect::<Vec<_>>();
        assert_eq!(scopes(row(&["search", "admin"])), [Scope::Search, Scope::Admin]);
        let all = [Scope::Search, Scope::Index, Scope::Triage, Scope::Admin];
        assert_eq!(scopes(row(&["search", "index", "triage", "admin"])), all, "every named scope");
        assert_eq!(
            scopes(row(&["*", "all", "a-scope-of-a-newer-program"])),
            [],
            "unknown scopes are ignored"
        );
    }

    #[test]
    fn a_key_ends_no_later_than_its_author() {
        for (end, authors_end) in [(None, None), (Some(5), None), (Some(5), Some(5)), (Some(4), Some(5))] {
            assert!(require_end_within(end, authors_end).is_ok(), "{end:?} {authors_end:?}");
        }
        for end in [None, Some(1001)] {
            let fault = require_end_within(end, Some(1000)).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidInput);
            assert!(fault.hint.is_some_and(|hint| hint.contains("1970-01-01T00:00:01")), "{end:?}");
        }
    }

    #[test]
    fn only_text_in_the_format_of_a_key_has_an_id() {
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
