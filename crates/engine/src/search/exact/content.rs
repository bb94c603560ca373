//! The filter `content`: chunks with a line that matches.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::matcher::{Candidates, Matcher};
use super::pattern::Pattern;
use crate::search::filters::pattern::slashed_regex;
use contract::clock::Clock;
use contract::config;
use contract::{ErrorCode, Fault, echo};
use store::{ChunkSelection, Reads};

/// Compiles a value of the filter: `/regular expression/`, `/…/i`, or a literal text.
///
/// # Errors
/// `INVALID_REQUEST` for a pattern that cannot be searched.
fn content_pattern(value: &str, exact_case: bool) -> Result<Pattern, Fault> {
    match slashed_regex(value) {
        // Languages that write expressions between slashes escape the slash as `\/`.
        Some((regex, ignores_case)) => {
            Pattern::regex(&regex.replace("\\/", "/"), exact_case && !ignores_case)
        }
        None => Pattern::text(value, exact_case),
    }
}

/// Returns the chunks of a selection that match, each with the first matching line.
///
/// # Errors
/// `INVALID_REQUEST` if too many chunks would have to be read, because a filter must not be incomplete; storage faults.
pub(in crate::search) async fn matching_chunks(
    reads: &mut Reads,
    value: &str,
    exact_case: bool,
    selection: &ChunkSelection,
    settings: &config::Search,
    clock: &dyn Clock,
) -> Result<HashMap<i64, u32>, Fault> {
    let pattern = content_pattern(value, exact_case)?;
    let matcher = Matcher::new(Arc::new(pattern), clock, Duration::from_millis(settings.exact_scan_ms));
    let ordered = matcher.candidates(reads, selection, settings.exact_candidates_max).await?;
    let mut chunks = HashMap::new();
    let is_listed = matches!(ordered.candidates, Candidates::Chunks(_));
    let is_whole = is_listed
        && matcher
            .run(reads, selection, &ordered, |page, _| {
                chunks
                    .extend(page.iter().filter_map(|chunk| Some((chunk.text.id, chunk.lines.first()?.line))));
                true
            })
            .await?
        && matcher.too_long() == 0;
    if is_whole {
        return Ok(chunks);
    }
    let reason = if is_listed {
        format!("takes longer than {} ms to match", settings.exact_scan_ms)
    } else {
        format!("may match more than {} chunks", settings.exact_candidates_max)
    };
    let message = format!("`content:{}` {reason}, which is too much for a filter.", echo(value));
    Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint(
        "Give more of the text, so that at least three characters in a row are known, or search for the lines alone with `regex: true`, which counts and pages.",
    ))
}
