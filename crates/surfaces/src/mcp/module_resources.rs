//! The resources of modules: their templates, and what they read.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::Value;

use super::browse::BrowseRequest;
use super::wire::{fault_error, to_meta, with_uri};
use gate::app::App;
use gate::module::{Modules, ResourceBody, ResourceKind, ResourceRequest, ResourceText};
use gate::tools::Caller;
use gate::tools::browse::is_open_to;

/// Returns the templates that the caller may use.
pub(super) fn templates(app: &App, caller: &Caller) -> impl Iterator<Item = ResourceTemplate> {
    let open = app.modules.resources().filter(move |kind| is_open_to(kind.operation, app, caller));
    open.flat_map(|kind| kind.templates).map(|template| {
        let described = ResourceTemplate::new(template.uri, template.name)
            .with_title(template.title)
            .with_description(template.description);
        match template.mime_type {
            Some(mime_type) => described.with_mime_type(mime_type),
            None => described,
        }
    })
}

/// Returns the kind of resource that a URI names, and the URI without its scheme.
pub(super) fn kind_of<'u>(modules: &Modules, uri: &'u str) -> Option<(&'static ResourceKind, &'u str)> {
    modules.resources().find_map(|kind| {
        let (scheme, rest) = uri.split_at_checked(kind.scheme.len())?;
        scheme.eq_ignore_ascii_case(kind.scheme).then_some((kind, rest))
    })
}

/// Reads a resource.
pub(super) async fn read(
    request: BrowseRequest<'_>,
    kind: &ResourceKind,
    named: ResourceRequest,
    uri: String,
) -> Result<ReadResourceResult, ErrorData> {
    let found: Value =
        request.run(named.operation, &named.arguments).await.map_err(|error| with_uri(error, &uri))?;
    let ResourceText { body, mime_type, meta } =
        (kind.render)(&named, found).map_err(|fault| with_uri(fault_error(&fault), &uri))?;
    let contents = match body {
        ResourceBody::Text(text) => ResourceContents::text(text, uri),
        ResourceBody::Blob(bytes) => ResourceContents::blob(bytes, uri),
    };
    let contents = contents.with_mime_type(mime_type);
    let contents = match meta {
        Some(meta) => contents.with_meta(to_meta(&meta)),
        None => contents,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Fault;
    use gate::module::Module;
    use gate::tools::ToolSpec;

    static NOTES: ResourceKind = ResourceKind {
        scheme: "note://",
        templates: &[],
        operation: &ToolSpec::BASE,
        complete: None,
        parse: |_| Err("It has no notes."),
        render: |_, _| Err(Fault::internal("It has no notes.", "it is a fixture")),
    };
    static MODULE: Module = Module { resources: &[&NOTES], ..Module::EMPTY };

    #[test]
    fn a_scheme_is_read_in_every_spelling() {
        let modules = Modules::new(vec![&MODULE]);
        for uri in ["note://a/b", "NOTE://a/b", "Note://a/b"] {
            let (found, rest) = kind_of(&modules, uri).unwrap();
            assert_eq!((found.scheme, rest), ("note://", "a/b"));
        }
        for other in ["repo://shop/a", "", "x", "note:/a", "notes://a"] {
            assert!(kind_of(&modules, other).is_none(), "{other}");
        }
    }
}
