//! Browsers that have signed in. A session is kept in this process and stands for the key that was given: each request checks the
//! key again, so revoking it ends the session at once. Only pages accept the cookie; the API never does.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use super::forms::FormTokens;

/// The cookie's name.
const COOKIE: &str = "pairofcleats_session";
/// Most sessions; the one that was used longest ago makes room.
const SESSIONS_MAX: usize = 10_000;
/// A session ends when it was not used this long.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Marks a request whose key came from a session, which it names.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct SignedIn(pub(super) blake3::Hash);

/// The sessions of this process.
pub(in super::super) struct Sessions {
    live: Mutex<HashMap<blake3::Hash, Session>>,
    /// Tokens of the forms that change something.
    pub(super) forms: FormTokens,
}

struct Session {
    key: String,
    last_used: Instant,
}

impl Sessions {
    /// No session yet; `secret` is unguessable. Without it no form is accepted.
    pub(in super::super) fn new(secret: Option<&str>) -> Self {
        Self { live: Mutex::default(), forms: FormTokens::new(secret) }
    }

    /// Begins a session for a key that was checked; `id` is unguessable.
    pub(super) fn begin(&self, id: &str, key: &str, now: Instant) {
        let mut sessions = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| now.saturating_duration_since(session.last_used) < IDLE);
        if sessions.len() >= SESSIONS_MAX {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.last_used).map(|(id, _)| *id);
            oldest.and_then(|oldest| sessions.remove(&oldest));
        }
        sessions.insert(stored_id(id), Session { key: key.to_owned(), last_used: now });
    }

    /// The session that the request's cookie names, and its key.
    pub(in super::super) fn find(&self, headers: &HeaderMap, now: Instant) -> Option<(SignedIn, String)> {
        let id = stored_id(&cookie(headers, COOKIE)?);
        let mut sessions = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get_mut(&id)?;
        if now.saturating_duration_since(session.last_used) >= IDLE {
            sessions.remove(&id);
            return None;
        }
        session.last_used = now;
        Some((SignedIn(id), session.key.clone()))
    }

    /// Ends the session that the request's cookie names.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers, COOKIE) {
            self.live.lock().unwrap_or_else(PoisonError::into_inner).remove(&stored_id(&id));
        }
    }
}

/// Sessions are stored under a hash, so that the time of a lookup says nothing about an id.
fn stored_id(id: &str) -> blake3::Hash {
    blake3::hash(id.as_bytes())
}

/// The value of a cookie; none if it was sent more than once.
pub(super) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = pairs.flat_map(|pairs| pairs.split(';')).filter_map(|pair| {
        pair.trim().split_once('=').filter(|(known, _)| *known == name).map(|(_, value)| value)
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

    fn key(sessions: &Sessions, headers: &HeaderMap, now: Instant) -> Option<String> {
        sessions.find(headers, now).map(|(_, key)| key)
    }

    #[test]
    fn a_session_lives_while_it_is_used() {
        let (sessions, start) = (Sessions::new(None), Instant::now());
        sessions.begin("id", "key", start);
        let headers = sent(&[&format!("a=b; {COOKIE}=id")]);
        let later = start + IDLE - Duration::from_secs(1);
        assert_eq!(key(&sessions, &headers, later).as_deref(), Some("key"));
        assert_eq!(key(&sessions, &headers, later + IDLE / 2).as_deref(), Some("key"), "it was used");
        assert_eq!(key(&sessions, &headers, later + IDLE * 2), None);
        sessions.begin("id", "key", start);
        sessions.end(&headers);
        assert_eq!(key(&sessions, &headers, start), None);
    }

    #[test]
    fn a_cookie_that_is_sent_twice_or_foreign_counts_as_none() {
        let (sessions, now) = (Sessions::new(None), Instant::now());
        sessions.begin("id", "key", now);
        for cookies in [
            &[format!("{COOKIE}=id; {COOKIE}=id")][..],
            &[format!("{COOKIE}=id"), format!("{COOKIE}=x")],
            &[format!("{COOKIE}=other")],
            &["pairofcleats=id".to_owned()],
            &[],
        ] {
            let cookies: Vec<&str> = cookies.iter().map(String::as_str).collect();
            assert_eq!(key(&sessions, &sent(&cookies), now), None, "{cookies:?}");
        }
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_makes_room() {
        let (sessions, start) = (Sessions::new(None), Instant::now());
        for at in 0..=SESSIONS_MAX {
            sessions.begin(&format!("id{at}"), "key", start + Duration::from_millis(at as u64));
        }
        let key = |id: usize| key(&sessions, &sent(&[&format!("{COOKIE}=id{id}")]), start);
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
