//! Ids of runs, of their work items and of their branches.

use std::fmt;

use contract::clock::iso_seconds;
use contract::{ErrorCode, Fault, echo};
use platform::sha256;

/// The pattern of run ids, as published in error messages.
pub const RUN_ID_PATTERN: &str = "^r_[0-9TZ-]{20}_[0-9a-f]{8}$";
/// Length of a run id in bytes.
const RUN_ID_BYTES: usize = 31;
/// Length of the time in a run id.
const TIME_BYTES: usize = 20;

/// The id of a run: `r_2026-01-21T10-00-00Z_0123abcd`. It is always well-formed, so it can be a part of a path or of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(String);

impl RunId {
    /// The id of a run that starts at `start_s` seconds since the epoch. `distinction` is the idempotency key, or the time in
    /// nanoseconds of a run without one.
    #[must_use]
    pub fn new(start_s: i64, project: &str, config_hash: &[u8; 32], distinction: &str) -> Self {
        let time = iso_seconds(start_s).replace(':', "-");
        let hash = sha256::to_hex(config_hash);
        let tag = sha256::digest_hex([project, &hash, distinction].join("\0").as_bytes());
        Self(format!("r_{time}_{}", tag.get(..8).unwrap_or_default()))
    }

    /// Reads an id that a caller sent.
    ///
    /// # Errors
    /// `INVALID_INPUT` if it is not well-formed.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if is_run_id(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Fault::new(ErrorCode::InvalidInput, "The id of the run is malformed.")
            .with_details(serde_json::json!({
                "field": "run_id",
                "value": echo(text),
                "pattern": RUN_ID_PATTERN,
            }))
            .with_hint("`launch_list_runs` lists the runs of the project with their ids."))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch on which the run is published.
    #[must_use]
    pub fn branch(&self, product_slug: &str) -> String {
        format!("launch/{self}/{product_slug}")
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_run_id(text: &str) -> bool {
    let Some((time, tag)) = text.strip_prefix("r_").and_then(|rest| rest.split_once('_')) else {
        return false;
    };
    text.len() == RUN_ID_BYTES
        && time.len() == TIME_BYTES
        && time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'T' | b'Z' | b'-'))
        && tag.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// The id of a work item.
#[must_use]
pub fn work_item_id(run_id: &str, worker: &str, attempt: u16, scope_key: &str) -> String {
    format!("{run_id}:{worker}:{attempt}:{scope_key}")
}

/// Identifies the cause of an event, so that all consequences of one call can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// 32 hexadecimal digits, the same for all consequences of one call.
    pub trace_id: String,
    /// The span of the call, unless the event is the call itself.
    pub parent_span_id: Option<String>,
}

impl Trace {
    /// The trace of a call with this request id, at this time.
    #[must_use]
    pub fn of_call(request_id: Option<&str>, now_ns: i128) -> Self {
        let seed = format!("{}\0{now_ns}", request_id.unwrap_or_default());
        let mut trace_id = sha256::digest_hex(seed.as_bytes());
        trace_id.truncate(32);
        Self { trace_id, parent_span_id: None }
    }

    /// The span of the call itself.
    #[must_use]
    pub fn call_span(&self) -> String {
        span_id(&self.trace_id, "call")
    }

    /// Returns the trace of the consequences of the call.
    #[must_use]
    pub fn below_call(&self) -> Self {
        Self { trace_id: self.trace_id.clone(), parent_span_id: Some(self.call_span()) }
    }
}

/// The id of a span: 16 hexadecimal digits, the same for the same trace and name.
#[must_use]
pub fn span_id(trace_id: &str, name: &str) -> String {
    let mut id = sha256::digest_hex([trace_id, name].join("\0").as_bytes());
    id.truncate(16);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_well_formed_and_tell_runs_apart() {
        let id = |project: &str, key: &str| RunId::new(1_769_000_400, project, &[7; 32], key);
        let first = id("p", "a");
        assert!(first.as_str().starts_with("r_2026-01-21T13-00-00Z_"), "{first}");
        assert_eq!(RunId::parse(first.as_str()).unwrap(), first);
        assert_eq!(first, id("p", "a"));
        assert_ne!(first, id("p", "b"));
        assert_ne!(first, id("q", "a"));
        assert_eq!(first.branch("shop"), format!("launch/{first}/shop"));
    }

    #[test]
    fn malformed_ids_are_refused() {
        for bad in [
            "",
            "r_",
            "r_2026-01-21T13-00-00Z_ABCDEF01",
            "r_2026-01-21T13-00-00Z_0123456",
            "r_2026-01-21T13-00-00Z_0123456g",
            "r_../../../etc/passwd__01234567",
            "x_2026-01-21T13-00-00Z_01234567",
            "r_2026-01-21T13-00-00Z_01234567\n",
        ] {
            let fault = RunId::parse(bad).unwrap_err();
            assert_eq!(fault.code, ErrorCode::InvalidInput, "{bad:?}");
        }
    }

    #[test]
    fn spans_of_one_trace_differ() {
        let trace = Trace::of_call(Some("req"), 1);
        assert_eq!((trace.trace_id.len(), trace.call_span().len()), (32, 16));
        assert_ne!(trace.call_span(), span_id(&trace.trace_id, "7"));
        assert_eq!(trace.below_call().parent_span_id, Some(trace.call_span()));
        assert_ne!(trace.trace_id, Trace::of_call(Some("req"), 2).trace_id);
    }

    proptest! {
        #[test]
        fn every_new_id_is_accepted(start in 0_i64..4_000_000_000, project in "[a-z]{1,9}", key in ".{0,20}") {
            let id = RunId::new(start, &project, &[1; 32], &key);
            prop_assert_eq!(RunId::parse(id.as_str()).ok(), Some(id));
        }

        #[test]
        fn no_other_text_is_accepted(text in ".{0,40}") {
            let is_plain = |part: &str| part.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
            prop_assert!(RunId::parse(&text).is_err() || is_plain(&text));
        }
    }
}
