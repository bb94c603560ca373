//! Media types of indexed files.

/// The media type of a file in this language. Languages without a registered type get `text/x-` and their id, as in
/// editors; every indexed file is text.
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
    fn registered_types_and_text_x_types() {
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
