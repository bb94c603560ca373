//! Faults for files that cannot be shown: why the file is not in the index, or which paths are similar.

use contract::{ErrorCode, Fault, echo};
use engine::indexing::SkipReason;

/// Maximum number of paths that are compared with an unknown one.
pub(super) const COMPARED_PATHS_MAX: i64 = 2000;
/// Maximum number of similar paths in a hint.
const NEAREST_MAX: usize = 3;
/// Paths with at least this similarity, from 0 to 1, are suggested.
const SIMILARITY_MIN: f64 = 0.7;
/// Longer paths have no similar ones, because the comparison takes time in proportion to their length.
const PATH_BYTES_MAX: usize = 512;

/// The fault for a file that was skipped when its repository was indexed.
pub(super) fn skipped_file_fault(path: &str, reason: &str) -> Fault {
    let known = SkipReason::parse(reason);
    let why = known.map_or("An earlier run could not read it.", SkipReason::sentence);
    let hint = match known {
        Some(SkipReason::TooLarge | SkipReason::Minified) => {
            "Read the file itself; the settings `indexing.file_bytes_max`, `indexing.document_bytes_max` and `indexing.line_bytes_mean_max` limit which files are indexed."
        }
        Some(SkipReason::SecretFile) => "Files that contain secrets are never shown.",
        Some(reason) if reason.is_transient() => "Refresh the index with `build_index` once it can be read.",
        _ => "Read the file itself; `index_status` counts skipped files by reason.",
    };
    Fault::new(ErrorCode::NotFound, format!("`{}` was not indexed: {why}", echo(path)))
        .with_details(serde_json::json!({ "path": echo(path), "reason": reason }))
        .with_hint(hint)
}

/// The fault for a path that the index does not know.
pub(super) fn unknown_path_fault(path: &str, nearest: &[&str]) -> Fault {
    let fault = Fault::new(ErrorCode::NotFound, format!("The file `{}` is not in the index.", echo(path)));
    if nearest.is_empty() {
        return fault.with_hint(
            "Use the path of a search hit. If the file is new, refresh the index with `build_index`.",
        );
    }
    let named: Vec<String> = nearest.iter().map(|path| format!("`{}`", echo(path))).collect();
    fault.with_details(serde_json::json!({ "nearest": nearest })).with_hint(format!(
        "Did you mean {}? If the file is new, refresh the index with `build_index`.",
        named.join(" or ")
    ))
}

/// The known paths most similar to an unknown one, most similar first.
pub(super) fn nearest_paths<'p>(path: &str, known: &'p [String]) -> Vec<&'p str> {
    if path.len() > PATH_BYTES_MAX {
        return Vec::new();
    }
    let mut near: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (similarity(path, known), known.as_str()))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1.len(), a.1).cmp(&(b.1.len(), b.1))));
    near.into_iter().take(NEAREST_MAX).map(|(_, path)| path).collect()
}

/// Similarity of two paths, 0 to 1: edit distance, raised if one path ends with the other or the file names are equal.
fn similarity(asked: &str, known: &str) -> f64 {
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
        assert_eq!(nearest_paths("a/routng.py", &known)[0], "a/routing.py");
        assert_eq!(nearest_paths("routing.py", &known)[..2], ["a/routing.py", "b/c/routing.py"]);
        assert_eq!(nearest_paths("C/Routing.py", &known)[0], "b/c/routing.py");
        assert!(
            nearest_paths("zebra/qqq.xyz", &known).is_empty()
                && nearest_paths(&"x".repeat(4096), &known).is_empty()
        );
    }

    #[test]
    fn every_reason_has_a_hint() {
        for reason in SkipReason::ALL {
            let fault = skipped_file_fault("a.min.js", reason.as_str());
            assert!(fault.message.contains(reason.sentence()) && fault.hint.is_some());
        }
        assert!(skipped_file_fault("a", "of another version").hint.is_some());
    }
}
