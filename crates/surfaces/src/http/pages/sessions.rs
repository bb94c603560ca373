//! Sessions of signed-in browsers. A session is kept in this process and represents the key that was entered: each request checks
//! the key again, so a session ends within `access.key_cache_ms` of the revocation of its key. Only pages accept the cookie; the
//! API never does.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use super::form_tokens::FormTokens;
use super::single_use::SentOnce;
use crate::http::host::HostPort;
use contract::config::Server;

/// The cookie's name; [`Cookie::new`] completes it.
const COOKIE: &str = "pairofcleats_session";
/// Maximum number of sessions; the least recently used one is evicted.
const SESSIONS_MAX: usize = 10_000;
/// Maximum number of sessions per holder, so that one holder cannot evict the sessions of others; the holder's oldest is evicted.
const HOLDER_SESSIONS_MAX: usize = 50;
/// The idle time after which a session ends.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Marks a request whose key came from a session, and names the session.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct SignedIn(pub(super) blake3::Hash);

/// The sessions of this process.
pub(in super::super) struct Sessions {
    live: Mutex<HashMap<blake3::Hash, Session>>,
    /// Tokens of the forms that change something.
    pub(super) forms: FormTokens,
    /// Forms that were sent and must not be carried out again.
    pub(super) sent_once: SentOnce,
}

struct Session {
    key: String,
    /// The holder of the key.
    holder: blake3::Hash,
    last_used: Instant,
}

impl Sessions {
    /// Creates an empty list; `secret` is unguessable. Without it no form is accepted.
    pub(in super::super) fn new(secret: Option<&str>) -> Self {
        Self { live: Mutex::default(), forms: FormTokens::new(secret), sent_once: SentOnce::default() }
    }

    /// Begins a session for a key that was checked; `id` is unguessable, `holder` identifies the holder of the key.
    pub(super) fn begin(&self, id: &str, holder: &str, key: &str, now: Instant) {
        let holder = blake3::hash(holder.as_bytes());
        let mut sessions = self.live();
        let mut of_holder = 0;
        sessions.retain(|_, session| {
            let is_live = now.saturating_duration_since(session.last_used) < IDLE;
            of_holder += usize::from(is_live && session.holder == holder);
            is_live
        });
        if of_holder >= HOLDER_SESSIONS_MAX {
            remove_oldest(&mut sessions, |session| session.holder == holder);
        }
        if sessions.len() >= SESSIONS_MAX {
            remove_oldest(&mut sessions, |_| true);
        }
        sessions.insert(stored_id(id), Session { key: key.to_owned(), holder, last_used: now });
    }

    /// Returns the session that the request's cookie names, and its key.
    pub(in super::super) fn find(
        &self,
        server: &Server,
        headers: &HeaderMap,
        now: Instant,
    ) -> Option<(SignedIn, String)> {
        let id = stored_id(&Cookie::of_session(server, headers).sent(headers)?);
        let mut sessions = self.live();
        let session = sessions.get_mut(&id)?;
        if now.saturating_duration_since(session.last_used) >= IDLE {
            sessions.remove(&id);
            return None;
        }
        session.last_used = now;
        Some((SignedIn(id), session.key.clone()))
    }

    /// Ends the session that the request's cookie names.
    pub(super) fn end(&self, server: &Server, headers: &HeaderMap) {
        if let Some(id) = Cookie::of_session(server, headers).sent(headers) {
            self.live().remove(&stored_id(&id));
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<blake3::Hash, Session>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the least recently used of the sessions that may be removed.
fn remove_oldest(sessions: &mut HashMap<blake3::Hash, Session>, may_go: impl Fn(&Session) -> bool) {
    let candidates = sessions.iter().filter(|(_, session)| may_go(session));
    let oldest = candidates.min_by_key(|(_, session)| session.last_used).map(|(id, _)| *id);
    oldest.and_then(|oldest| sessions.remove(&oldest));
}

/// Hashes an id: sessions are stored under a hash, so that the time of a lookup reveals nothing about an id.
fn stored_id(id: &str) -> blake3::Hash {
    blake3::hash(id.as_bytes())
}

/// Checks whether browsers reach the server over TLS: its own, or that of the proxy in front.
pub(super) fn is_secure(server: &Server) -> bool {
    server.tls_certificate.is_some() || server.behind_proxy || !server.trusted_proxies.is_empty()
}

/// A cookie of this server that scripts cannot read.
pub(super) struct Cookie {
    name: String,
    is_secure: bool,
}

impl Cookie {
    /// Determines the cookie `name` for the browser that sent `headers`. Behind TLS a prefix keeps other hosts, and servers without TLS,
    /// from setting it. Elsewhere the name contains the port, because browsers share cookies among all servers of a host.
    pub(super) fn new(name: &str, server: &Server, headers: &HeaderMap) -> Self {
        let is_secure = is_secure(server);
        let name = match (is_secure, port(headers)) {
            (true, _) => format!("__Host-{name}"),
            (false, Some(port)) => format!("{name}_{port}"),
            (false, None) => name.to_owned(),
        };
        Self { name, is_secure }
    }

    /// Returns the cookie that names a session.
    pub(super) fn of_session(server: &Server, headers: &HeaderMap) -> Self {
        Self::new(COOKIE, server, headers)
    }

    /// Returns the value that was sent; `None` if it was not sent exactly once.
    pub(super) fn sent(&self, headers: &HeaderMap) -> Option<String> {
        let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| {
            pair.trim().split_once('=').filter(|(known, _)| *known == self.name).map(|(_, value)| value)
        });
        let value = values.next()?;
        values.next().is_none().then(|| value.to_owned())
    }

    /// Returns the header that sets the cookie to a value for this lifetime.
    pub(super) fn set(&self, value: &str, lifetime: Duration) -> String {
        let Self { name, is_secure } = self;
        let (age, secure) = (lifetime.as_secs(), if *is_secure { "; Secure" } else { "" });
        // Lax, because pages of other sites may link here, and the issuer's page leads back here with its answer.
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}")
    }

    /// Returns the header that sets the cookie to the session `id`.
    pub(super) fn set_session(&self, id: &str) -> String {
        self.set(id, IDLE)
    }

    /// Returns the header that deletes the cookie.
    pub(super) fn removed(&self) -> String {
        self.set("", Duration::ZERO)
    }
}

/// Returns the port by which the browser knows this server, unless it is the default one.
fn port(headers: &HeaderMap) -> Option<u16> {
    HostPort::parse(headers.get(header::HOST)?.to_str().ok()?)?.port
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const NAME: &str = "pairofcleats_session_7171";

    fn server() -> Server {
        contract::config::load(&contract::config::Overrides::default()).unwrap().0.server
    }

    fn sent(cookies: &[&str]) -> HeaderMap {
        let host = (header::HOST, HeaderValue::from_static("127.0.0.1:7171"));
        let cookies = cookies.iter().map(|text| (header::COOKIE, HeaderValue::from_str(text).unwrap()));
        cookies.chain([host]).collect()
    }

    fn key(sessions: &Sessions, headers: &HeaderMap, now: Instant) -> Option<String> {
        sessions.find(&server(), headers, now).map(|(_, key)| key)
    }

    #[test]
    fn a_session_lives_while_it_is_used() {
        let (sessions, start) = (Sessions::new(None), Instant::now());
        sessions.begin("id", "ann", "key", start);
        let headers = sent(&[&format!("a=b; {NAME}=id")]);
        let later = start + IDLE - Duration::from_secs(1);
        assert_eq!(key(&sessions, &headers, later).as_deref(), Some("key"));
        assert_eq!(key(&sessions, &headers, later + IDLE / 2).as_deref(), Some("key"), "it was used");
        assert_eq!(key(&sessions, &headers, later + IDLE * 2), None);
        sessions.begin("id", "ann", "key", start);
        sessions.end(&server(), &headers);
        assert_eq!(key(&sessions, &headers, start), None);
    }

    #[test]
    fn a_cookie_that_is_sent_twice_or_foreign_counts_as_none() {
        let (sessions, now) = (Sessions::new(None), Instant::now());
        sessions.begin("id", "ann", "key", now);
        for cookies in [
            &[format!("{NAME}=id; {NAME}=id")][..],
            &[format!("{NAME}=id"), format!("{NAME}=x")],
            &[format!("{NAME}=other")],
            &["pairofcleats=id".to_owned()],
            &[format!("{COOKIE}=id"), format!("{COOKIE}_7172=id"), format!("__Host-{COOKIE}=id")],
            &[],
        ] {
            let cookies: Vec<&str> = cookies.iter().map(String::as_str).collect();
            assert_eq!(key(&sessions, &sent(&cookies), now), None, "{cookies:?}");
        }
    }

    /// Returns which of the sessions `id0`, `id1` and so on are alive.
    fn live(sessions: &Sessions, ids: &[usize]) -> Vec<bool> {
        ids.iter().map(|id| sessions.live().contains_key(&stored_id(&format!("id{id}")))).collect()
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_makes_room() {
        let (sessions, start) = (Sessions::new(None), Instant::now());
        for at in 0..=SESSIONS_MAX {
            let now = start + Duration::from_millis(at as u64);
            sessions.begin(&format!("id{at}"), &format!("holder{at}"), "key", now);
        }
        assert_eq!(live(&sessions, &[0, 1, SESSIONS_MAX]), [false, true, true]);
        assert_eq!(sessions.live().len(), SESSIONS_MAX);
    }

    #[test]
    fn a_holder_pushes_out_only_their_own_sessions() {
        let (sessions, start) = (Sessions::new(None), Instant::now());
        sessions.begin("id0", "ann", "key", start);
        for at in 1..=HOLDER_SESSIONS_MAX + 1 {
            let now = start + Duration::from_millis(at as u64);
            sessions.begin(&format!("id{at}"), "bob", "another key", now);
        }
        assert_eq!(live(&sessions, &[0, 1, 2, HOLDER_SESSIONS_MAX + 1]), [true, false, true, true]);
        assert_eq!(sessions.live().len(), HOLDER_SESSIONS_MAX + 1);
    }

    #[test]
    fn scripts_other_sites_and_other_servers_get_nothing_from_the_cookie() {
        let cookie = |server: &Server, host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            Cookie::of_session(server, &headers)
        };
        let secure = Server { behind_proxy: true, ..server() };
        assert_eq!(
            cookie(&secure, "code.example.com:8443").set_session("abc"),
            "__Host-pairofcleats_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure"
        );
        let removed = cookie(&server(), "[::1]:7171").removed();
        assert!(removed.starts_with(&format!("{NAME}=; Path=/; ")), "{removed}");
        assert!(removed.contains("Max-Age=0") && !removed.contains("Secure"), "{removed}");
        assert_eq!(cookie(&server(), "localhost:7172").name, "pairofcleats_session_7172");
        assert_eq!(cookie(&server(), "localhost").name, "pairofcleats_session");
    }
}
