//! What the caller said about which chunks may answer, to the store's filter.

use super::pattern::path_regex;
use super::request::FilterRequest;
use crate::contract::{ErrorCode, Fault};
use crate::languages;
use crate::store::Filter;

/// Most values of one list.
const VALUES_MAX: usize = 64;

/// The store's filter. Aliases become language ids, extensions lose their dots, patterns become regular
/// expressions; the repository was looked up before.
///
/// # Errors
/// `INVALID_REQUEST` for a malformed pattern, an unknown language (with the nearest names), an extension that
/// is none, or more than 64 values in a list.
pub(super) fn store_filter(request: &FilterRequest, repository_id: Option<i64>) -> Result<Filter, Fault> {
    for (field, values) in [
        ("path", &request.paths),
        ("file", &request.files),
        ("ext", &request.extensions),
        ("lang", &request.languages),
    ] {
        if values.len() > VALUES_MAX {
            let message = format!("`{field}` has {} values; {VALUES_MAX} are allowed.", values.len());
            return Err(Fault::new(ErrorCode::InvalidRequest, message)
                .with_hint("Use a glob instead of a long list."));
        }
    }
    Ok(Filter {
        repository_id,
        languages: languages_of(request)?,
        extensions: request.extensions.iter().map(|given| extension(given)).collect::<Result<_, _>>()?,
        path_patterns: patterns(&request.paths)?,
        file_patterns: patterns(&request.files)?,
    })
}

fn patterns(given: &[String]) -> Result<Vec<String>, Fault> {
    given.iter().map(|pattern| Ok(format!("(?i){}", path_regex(pattern)?))).collect()
}

/// The languages asked for that belong to the mode.
fn languages_of(request: &FilterRequest) -> Result<Vec<String>, Fault> {
    let named = request.languages.iter().map(|name| language(name)).collect::<Result<Vec<_>, _>>()?;
    let Some(of_mode) = request.mode.languages() else { return Ok(named) };
    if named.is_empty() {
        return Ok(of_mode.into_iter().map(str::to_owned).collect());
    }
    let both: Vec<String> = named.iter().filter(|id| of_mode.contains(&id.as_str())).cloned().collect();
    if both.is_empty() {
        let message = format!("No file in {} belongs to this mode.", named.join(", "));
        return Err(Fault::new(ErrorCode::InvalidRequest, message).with_hint("Drop `mode` or `lang`."));
    }
    Ok(both)
}

fn language(name: &str) -> Result<String, Fault> {
    if let Some(language) = languages::by_name(name.trim()) {
        return Ok(language.id.to_owned());
    }
    let nearest = languages::nearest(name.trim());
    let hint = if nearest.is_empty() {
        "Filter by extension (`ext`) instead, for example `rs`.".to_owned()
    } else {
        format!(
            "Did you mean {}?",
            nearest.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        )
    };
    Err(Fault::new(ErrorCode::InvalidRequest, format!("Unknown language `{name}`."))
        .with_details(serde_json::json!({ "field": "lang", "value": name, "nearest": nearest }))
        .with_hint(hint))
}

/// `*.RS`, `.rs` and `rs` are all `rs`.
fn extension(given: &str) -> Result<String, Fault> {
    let bare = given.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase();
    if bare.is_empty() || bare.contains(['/', '*', ' ']) {
        return Err(Fault::new(ErrorCode::InvalidRequest, format!("`{given}` is no file extension."))
            .with_hint("Give extensions like `rs` or `.rs`; for patterns use `path`."));
    }
    Ok(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(paths: &[&str], extensions: &[&str], languages: &[&str]) -> FilterRequest {
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        FilterRequest {
            repository_root: None,
            paths: owned(paths),
            extensions: owned(extensions),
            languages: owned(languages),
            ..FilterRequest::default()
        }
    }

    #[test]
    fn normalises_every_field() {
        let filter = store_filter(&request(&["src/a.b"], &["*.RS", ".ts"], &["golang"]), Some(7)).unwrap();
        assert_eq!(filter.repository_id, Some(7));
        assert_eq!(filter.path_patterns, ["(?i)src/a\\.b"]);
        assert_eq!(filter.extensions, ["rs", "ts"]);
        assert_eq!(filter.languages, ["go"]);
        assert!(store_filter(&FilterRequest::default(), None).unwrap().is_empty());
    }

    #[test]
    fn refuses_what_could_never_match() {
        for bad in [request(&["a[b"], &[], &[]), request(&[], &["a/b"], &[]), request(&[], &[], &["rusd"])] {
            assert_eq!(store_filter(&bad, None).unwrap_err().code, ErrorCode::InvalidRequest, "{bad:?}");
        }
        let fault = store_filter(&request(&[], &[], &["rusd"]), None).unwrap_err();
        assert!(fault.hint.unwrap().contains("rust"));
    }
}
