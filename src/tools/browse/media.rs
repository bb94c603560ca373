//! The media type of a file, by its language.

/// The media type of a file in this language. Where none is registered it is `text/x-` and the language's id, as
/// editors have it; everything indexed is text.
pub(super) fn media_type(language: Option<&str>) -> String {
    match language {
        None | Some("text") => "text/plain".to_owned(),
        Some(id @ ("css" | "csv" | "html" | "javascript" | "markdown")) => format!("text/{id}"),
        Some(id @ ("graphql" | "json" | "sql" | "toml" | "xml" | "yaml")) => format!("application/{id}"),
        Some(other) => format!("text/x-{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_types_and_editors_types() {
        for (language, expected) in [
            (None, "text/plain"),
            (Some("markdown"), "text/markdown"),
            (Some("json"), "application/json"),
            (Some("rust"), "text/x-rust"),
        ] {
            assert_eq!(media_type(language), expected);
        }
    }
}
