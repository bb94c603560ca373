//! What is said of a file that cannot be shown: why it was left out of the index, or which paths are near.

use contract::{ErrorCode, Fault, echo};
use engine::indexing::SkipReason;

/// Paths that are compared with one that is not there.
pub(super) const ALIKE_MAX: i64 = 2000;
/// Paths that are named.
const NEAREST_MAX: usize = 3;
/// Likeness from which a path is near, 0 to 1.
const LIKENESS_MIN: f64 = 0.7;
/// Longer paths are near to none: comparing takes time in their length.
const PATH_BYTES_MAX: usize = 512;

/// A file that the index knows and does not hold.
pub(super) fn left_out(path: &str, reason: &str) -> Fault {
    let known = SkipReason::parse(reason);
    let why = known.map_or("An earlier run could not read it.", SkipReason::sentence);
    let hint = match known {
        Some(SkipReason::TooLarge | SkipReason::Minified) => {
            "Read the file itself; the settings `indexing.file_bytes_max` and `indexing.line_bytes_mean_max` say what is left out."
        }
        Some(SkipReason::SecretFile) => "It is never shown.",
        Some(reason) if reason.may_pass() => "Refresh the index with `build_index` once it can be read.",
        _ => "Read the file itself; `index_status` counts what is left out by reason.",
    };
    Fault::new(ErrorCode::NotFound, format!("`{}` was left out of the index: {why}", echo(path)))
        .with_details(serde_json::json!({ "path": echo(path), "reason": reason }))
        .with_hint(hint)
}

/// A path that the index does not know.
pub(super) fn not_there(path: &str, nearest: &[&str]) -> Fault {
    let fault = Fault::new(ErrorCode::NotFound, format!("No indexed file `{}`.", echo(path)));
    if nearest.is_empty() {
        return fault.with_hint(
            "Paths are those of search hits; refresh the index with `build_index` if the file is new.",
        );
    }
    let named: Vec<String> = nearest.iter().map(|path| format!("`{}`", echo(path))).collect();
    fault.with_details(serde_json::json!({ "nearest": nearest })).with_hint(format!(
        "Did you mean {}? If the file is new, refresh the index with `build_index`.",
        named.join(" or ")
    ))
}

/// The paths nearest to one that is not there, the nearest first.
pub(super) fn nearest<'p>(path: &str, known: &'p [String]) -> Vec<&'p str> {
    if path.len() > PATH_BYTES_MAX {
        return Vec::new();
    }
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (likeness(path, known), known.as_str()))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1.len(), a.1).cmp(&(b.1.len(), b.1))));
    near.into_iter().take(NEAREST_MAX).map(|(_, path)| path).collect()
}

/// How alike two paths are, 0 to 1: as texts, or by the end that they share.
fn likeness(asked: &str, known: &str) -> f64 {
    let (asked, known) = (asked.to_lowercase(), known.to_lowercase());
    if known.len() > PATH_BYTES_MAX {
        return 0.0;
    }
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let whole = strsim::normalized_damerau_levenshtein(&asked, &known);
    let is_end_of = |end: &str, path: &str| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'));
    if is_end_of(&asked, &known) || is_end_of(&known, &asked) {
        0.95 + 0.05 * whole
    } else if name(&asked) == name(&known) {
        0.8 + 0.14 * whole
    } else {
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_paths_come_first() {
        let known: Vec<String> = ["a/routing.py", "a/requests.py", "tests/test_routing.py", "b/c/routing.py"]
            .map(String::from)
            .to_vec();
        assert_eq!(nearest("a/routng.py", &known)[0], "a/routing.py");
        assert_eq!(nearest("routing.py", &known)[..2], ["a/routing.py", "b/c/routing.py"]);
        assert_eq!(nearest("C/Routing.py", &known)[0], "b/c/routing.py");
        assert!(nearest("zebra/qqq.xyz", &known).is_empty() && nearest(&"x".repeat(4096), &known).is_empty());
    }

    #[test]
    fn every_reason_says_what_to_do() {
        for reason in SkipReason::ALL {
            let fault = left_out("a.min.js", reason.as_str());
            assert!(fault.message.contains(reason.sentence()) && fault.hint.is_some());
        }
        assert!(left_out("a", "of another version").hint.is_some());
    }
}
