//! Browsers that have signed in. A session is kept in this process and stands for the key that was given: each request checks the
//! key again, so revoking it ends the session at once. Only pages that read accept the cookie; the API never does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

/// The cookie's name.
const COOKIE: &str = "pairofcleats_session";
/// Most sessions; the one that was used longest ago makes room.
const SESSIONS_MAX: usize = 10_000;
/// A session ends when it was not used this long.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Marks a request whose key came from a session.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct SignedIn;

/// The sessions of this process.
#[derive(Default)]
pub(in super::super) struct Sessions(Mutex<HashMap<blake3::Hash, Session>>);

struct Session {
    key: String,
    last_used: Instant,
}

impl Sessions {
    /// Begins a session for a key that was checked; `id` is unguessable.
    pub(super) fn begin(&self, id: &str, key: &str, now: Instant) {
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| now.saturating_duration_since(session.last_used) < IDLE);
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.last_used).map(|(id, _)| *id);
            oldest.and_then(|oldest| sessions.remove(&oldest));
        }
        sessions.insert(stored_id(id), Session { key: key.to_owned(), last_used: now });
    }

    /// The key of the session that the request's cookie names.
    pub(in super::super) fn key(&self, headers: &HeaderMap, now: Instant) -> Option<String> {
        let id = stored_id(&cookie(headers)?);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&id)?;
        if now.saturating_duration_since(session.last_used) >= IDLE {
            sessions.remove(&id);
            return None;
        }
        session.last_used = now;
        Some(session.key.clone())
    }

    /// Ends the session that the request's cookie names.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&stored_id(&id));
        }
    }
}

/// Sessions are stored under a hash, so that the time of a lookup says nothing about an id.
fn stored_id(id: &str) -> blake3::Hash {
    blake3::hash(id.as_bytes())
}

/// The value of the cookie; none if it was sent more than once.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| {
        pair.trim().split_once('=').filter(|(name, _)| *name == COOKIE).map(|(_, value)| value)
    });
    let value = values.next()?;
    values.next().is_none().then(|| value.to_owned())
}

/// The header that gives a browser the session `id`, or takes it away if that is empty.
pub(super) fn set_cookie(id: &str, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    let age = if id.is_empty() { 0 } else { IDLE.as_secs() };
    format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn sent(cookies: &[&str]) -> HeaderMap {
        cookies.iter().map(|text| (header::COOKIE, HeaderValue::from_str(text).unwrap())).collect()
    }

    #[test]
    fn a_session_lives_while_it_is_used() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        sessions.begin("id", "key", start);
        let headers = sent(&[&format!("a=b; {COOKIE}=id")]);
        let later = start + IDLE - Duration::from_secs(1);
        assert_eq!(sessions.key(&headers, later).as_deref(), Some("key"));
        assert_eq!(sessions.key(&headers, later + IDLE / 2).as_deref(), Some("key"), "it was used");
        assert_eq!(sessions.key(&headers, later + IDLE * 2), None);
        sessions.begin("id", "key", start);
        sessions.end(&headers);
        assert_eq!(sessions.key(&headers, start), None);
    }

    #[test]
    fn a_cookie_that_is_sent_twice_or_foreign_counts_as_none() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        sessions.begin("id", "key", now);
        for cookies in [
            &[format!("{COOKIE}=id; {COOKIE}=id")][..],
            &[format!("{COOKIE}=id"), format!("{COOKIE}=x")],
            &[format!("{COOKIE}=other")],
            &["pairofcleats=id".to_owned()],
            &[],
        ] {
            let cookies: Vec<&str> = cookies.iter().map(String::as_str).collect();
            assert_eq!(sessions.key(&sent(&cookies), now), None, "{cookies:?}");
        }
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_makes_room() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        for at in 0..=SESSIONS_MAX {
            sessions.begin(&format!("id{at}"), "key", start + Duration::from_millis(at as u64));
        }
        let key = |id: usize| sessions.key(&sent(&[&format!("{COOKIE}=id{id}")]), start);
        assert_eq!((key(0), key(1).as_deref()), (None, Some("key")));
    }

    #[test]
    fn scripts_and_other_sites_get_nothing_from_the_cookie() {
        assert_eq!(
            set_cookie("abc", true),
            "pairofcleats_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure"
        );
        assert!(set_cookie("", false).contains("Max-Age=0") && !set_cookie("", false).contains("Secure"));
    }
}
