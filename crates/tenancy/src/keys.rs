//! API keys: random, shown once, stored hashed, with projects × scopes and an expiry.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::principal::{Principal, Projects, Scope};
use contract::{ErrorCode, Fault, ProjectId};
use store::{AuditEntry, KeyRow, Store, api_keys, audit};

/// What every key begins with, so that people and secret scanners know one.
const PREFIX: &str = "poc_";
/// Bytes of the public part; two hexadecimal digits each.
const ID_BYTES: usize = 6;
/// Random bytes of the secret part.
const SECRET_BYTES: usize = 32;
/// Beyond this many keys in use, all are looked up again.
const CACHED_MAX: usize = 10_000;

/// A key to be made.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What the operator calls it.
    pub name: String,
    /// Where it may work.
    pub projects: Projects,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// Calls a minute; None: the server's limit.
    pub calls_per_minute: Option<u32>,
    /// Directories to which it may narrow indexing further, absolute; None: those of the project.
    pub roots: Option<Vec<PathBuf>>,
    /// When it stops to work, milliseconds since the epoch, UTC; None: never.
    pub expires_ms: Option<i64>,
}

/// A key that was made.
pub struct Issued {
    /// The key itself: this is the only time that anybody sees it.
    pub secret: String,
    /// What is kept of it.
    pub id: String,
}

/// Makes a key, and notes in the audit table that it was made at `now_ms`.
///
/// # Errors
/// `INTERNAL` when the system gives no random bytes; storage faults.
pub async fn issue(store: &Store, new: NewKey, now_ms: i64) -> Result<Issued, Fault> {
    let mut random = [0; ID_BYTES + SECRET_BYTES];
    getrandom::fill(&mut random).map_err(|e| Fault::internal("No random key could be made.", e))?;
    let (id, secret) = random.split_at(ID_BYTES);
    let id = hex(id);
    let secret = format!("{PREFIX}{id}_{}", hex(secret));
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
    let mut door = store.control().await?;
    api_keys::insert(&mut door, &row).await?;
    audit::append(&mut door, &[noted("keys create", &id, now_ms)]).await?;
    door.commit().await?;
    Ok(Issued { secret, id })
}

/// All keys, oldest first, without their secrets, which nobody has.
///
/// # Errors
/// Storage faults.
pub async fn list(store: &Store) -> Result<Vec<KeyRow>, Fault> {
    let mut door = store.control_read().await?;
    let keys = api_keys::list(&mut door).await?;
    door.commit().await?;
    Ok(keys)
}

/// Makes a key stop to work: at once for servers that did not use it lately, within `access.key_cache_ms` for others.
///
/// # Errors
/// `NOT_FOUND` when there is no such key or it was revoked before; storage faults.
pub async fn revoke(store: &Store, id: &str, now_ms: i64) -> Result<(), Fault> {
    let mut door = store.control().await?;
    if !api_keys::revoke(&mut door, id).await? {
        return Err(Fault::new(ErrorCode::NotFound, "There is no such key, or it was revoked already.")
            .with_hint("`pairofcleats keys list` shows the ids of all keys."));
    }
    audit::append(&mut door, &[noted("keys revoke", id, now_ms)]).await?;
    door.commit().await
}

fn noted(what: &str, id: &str, at_ms: i64) -> AuditEntry {
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

/// Whose key it is, by its hash, and since when that is believed.
type Believed = HashMap<[u8; 32], (Instant, Arc<Principal>)>;

/// Tells keys that work from those that do not, and remembers the answer for a few seconds.
pub struct Keyring {
    believed_for: Duration,
    known: Mutex<Believed>,
}

impl Keyring {
    /// A keyring that asks the database again after `believed_for`.
    #[must_use]
    pub fn new(believed_for: Duration) -> Self {
        Self { believed_for, known: Mutex::default() }
    }

    /// Whether a text has the form of a key; others are not looked up.
    #[must_use]
    pub fn is_key(text: &str) -> bool {
        id_of(text).is_some()
    }

    /// Whose key it is; None when it does not work: unknown, revoked, expired.
    ///
    /// # Errors
    /// Storage faults: a key that cannot be looked up is not let through.
    pub async fn principal(&self, store: &Store, key: &str) -> Result<Option<Arc<Principal>>, Fault> {
        let Some(id) = id_of(key) else { return Ok(None) };
        let hash = hash(key);
        let now = Instant::now();
        if let Some((since, principal)) = self.with(|known| known.get(&hash).cloned())
            && now.duration_since(since) < self.believed_for
        {
            return Ok(Some(principal));
        }
        let mut door = store.control_read().await?;
        let found = api_keys::find(&mut door, id).await?;
        door.commit().await?;
        // Hashes of 256 random bits: how long it takes to compare them tells nothing.
        let Some(row) = found.filter(|row| row.live && row.hash == hash) else {
            self.with(|known| known.remove(&hash));
            return Ok(None);
        };
        note_use(store.clone(), id.to_owned());
        let principal = Arc::new(principal(row)?);
        self.with(|known| {
            if known.len() >= CACHED_MAX {
                known.clear();
            }
            known.insert(hash, (now, Arc::clone(&principal)));
        });
        Ok(Some(principal))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Believed) -> T) -> T {
        act(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes that a key was used, behind the call: who asks does not wait for who writes.
fn note_use(store: Store, id: String) {
    tokio::spawn(async move {
        let noted = async {
            let mut door = store.control().await?;
            api_keys::used(&mut door, &id).await?;
            door.commit().await
        };
        if let Err(fault) = noted.await {
            tracing::debug!("the use of a key was not noted: {}", fault.message);
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
    Sha256::digest(key.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
