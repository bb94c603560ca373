//! Faults on the way to a repository. They can be set while the host runs, and apply to later requests.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The faults of one repository, or of all: a handle, whose copies set the same faults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Mutex<Settings>>);

#[derive(Debug, Default)]
struct Settings {
    plan: Plan,
    /// The only `Authorization` that is accepted.
    authorization: Option<String>,
}

/// Faults of one answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    pub(super) redirect: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) delay: Option<Duration>,
    pub(super) cut_after: Option<usize>,
    pub(super) trickles: bool,
    pub(super) is_garbage: bool,
}

impl Plan {
    /// These faults, and the others where there are none of these.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            redirect: self.redirect.or(others.redirect),
            status: self.status.or(others.status),
            delay: self.delay.or(others.delay),
            cut_after: self.cut_after.or(others.cut_after),
            trickles: self.trickles || others.trickles,
            is_garbage: self.is_garbage || others.is_garbage,
        }
    }
}

impl Faults {
    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.0.lock().unwrap()
    }

    pub(super) fn plan(&self) -> Plan {
        self.settings().plan.clone()
    }

    /// Checks whether a request with this `Authorization` is accepted.
    pub(super) fn admit(&self, authorization: Option<&str>) -> bool {
        let settings = self.settings();
        settings.authorization.is_none() || settings.authorization.as_deref() == authorization
    }

    /// Answers 401 with a challenge to requests without exactly these credentials.
    pub(crate) fn require_credentials(&self, user: &str, password: &str) {
        let credentials = base64(format!("{user}:{password}").as_bytes());
        self.settings().authorization = Some(format!("Basic {credentials}"));
    }

    /// Answers 302. The location is `url` in place of the URL of the repository, or of the host if these are the host's faults;
    /// what follows in the requested URL, such as `/info/refs`, is appended.
    pub(crate) fn redirect_to(&self, url: &str) {
        self.settings().plan.redirect = Some(url.to_owned());
    }

    /// Answers with this status and a line of text.
    pub(crate) fn answer_with(&self, status: u16) {
        self.settings().plan.status = Some(status);
    }

    /// Waits before the first byte of an answer.
    pub(crate) fn delay(&self, duration: Duration) {
        self.settings().plan.delay = Some(duration);
    }

    /// Sends the body of an answer one byte at a time, each after 200 ms.
    pub(crate) fn trickle(&self) {
        self.settings().plan.trickles = true;
    }

    /// Closes the connection after about this many bytes of a pack, if it has more. Answers without a pack are complete.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.settings().plan.cut_after = Some(bytes);
    }

    /// Answers 200 with a page for people.
    pub(crate) fn garbage(&self) {
        self.settings().plan.is_garbage = true;
    }

    /// From now on nothing goes wrong, and no credentials are required.
    pub(crate) fn clear(&self) {
        let mut settings = self.settings();
        settings.plan = Plan::default();
        settings.authorization = None;
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut bits = 0;
        for place in 0..3 {
            bits = bits * 256 + usize::from(group.get(place).copied().unwrap_or_default());
        }
        for place in 0..4 {
            let digit = char::from(DIGITS[(bits >> (18 - 6 * place)) % 64]);
            text.push(if place <= group.len() { digit } else { '=' });
        }
    }
    text
}
