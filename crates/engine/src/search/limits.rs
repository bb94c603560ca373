//! Checks a request against the configured limits.

use crate::search::request::{Mode, SearchRequest};
use contract::config;
use contract::{ErrorCode, Fault};

/// Refuses a request that exceeds a limit.
///
/// # Errors
/// `INVALID_REQUEST` for an empty or over-long query, or a number out of its range.
pub(super) fn check(request: &SearchRequest, settings: &config::Search) -> Result<(), Fault> {
    let is_exact = request.exact.is_some();
    // White space may be what is looked for.
    if request.query.is_empty() || (!is_exact && request.query.trim().is_empty()) {
        return Err(
            invalid("The query is empty.").with_hint("Describe what you are looking for, or name it.")
        );
    }
    let length = request.query.chars().count();
    if length > settings.query_chars_max {
        return Err(invalid(format!(
            "The query has {length} characters; {} are allowed.",
            settings.query_chars_max
        ))
        .with_hint("Keep the part that describes what you are looking for."));
    }
    if is_exact && request.mode == Mode::ExtractedProse {
        return Err(invalid("Exact search matches whole lines, not comments alone.")
            .with_hint("Leave out the mode `extracted-prose`."));
    }
    let (top_max, offset_max) = if is_exact {
        (settings.exact_top_max, settings.exact_matches_max)
    } else {
        (settings.top_max, settings.offset_max)
    };
    for (field, value, range) in [
        ("top", request.top, 1..=top_max),
        ("offset", request.offset, 0..=offset_max),
        ("context", request.context_lines, 0..=settings.context_lines_max),
    ] {
        if !range.contains(&value) {
            return Err(invalid(format!(
                "`{field}` is {value}; {} to {} is allowed.",
                range.start(),
                range.end()
            ))
            .with_hint(format!("Set `{field}` within its range.")));
        }
    }
    Ok(())
}

fn invalid(message: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message)
}
