//! Instructions as MCP resources: `instruction://{id}{?project}`.

use serde_json::{Value, json};

use super::operations::InstructionText;
use super::{COMPLETE_INSTRUCTION, READ_INSTRUCTION};
use contract::{ErrorCode, Fault, echo};
use gate::module::{
    ResourceBody, ResourceKind, ResourceRequest, ResourceTemplate, ResourceText, uri_decoded,
};

/// The instructions of the session's project, or else of the default workspace.
pub(super) static ENTRIES: ResourceKind = ResourceKind {
    scheme: "instruction://",
    templates: &[ResourceTemplate {
        uri: "instruction://{id}{?project}",
        name: "instruction",
        title: "Instruction",
        description: "One of the team's instructions for agents, by id, as Markdown.",
        mime_type: None,
        arguments: &["id", "project"],
    }],
    operation: READ_INSTRUCTION,
    complete: Some(COMPLETE_INSTRUCTION),
    parse,
    render,
};

/// Separates the project from the id in a URI.
const PROJECT: &str = "?project=";

/// Reads a URI without its scheme: an id and a project.
///
/// # Errors
/// The reason, as a sentence.
fn parse(rest: &str) -> Result<ResourceRequest, &'static str> {
    let (id, project) = match rest.rsplit_once(PROJECT) {
        Some((id, project)) => (id, Some(project)),
        None => (rest, None),
    };
    // Some clients normalise the URI, which adds a slash.
    let id = id.trim_end_matches('/');
    if id.is_empty() {
        return Err("The URI has no id.");
    }
    let id = uri_decoded(id)?;
    let project = project.map(uri_decoded).transpose()?;
    Ok(ResourceRequest { operation: READ_INSTRUCTION, arguments: json!({ "id": id, "project_id": project }) })
}

/// Renders an instruction as Markdown.
fn render(request: &ResourceRequest, answer: Value) -> Result<ResourceText, Fault> {
    let found: InstructionText = serde_json::from_value(answer)
        .map_err(|error| Fault::internal("The answer could not be read.", error))?;
    let Some(source_hash) = found.source_hash else {
        let id = request.arguments["id"].as_str().unwrap_or_default();
        let message = format!("The catalog has no instruction `{}`.", echo(id));
        return Err(Fault::new(ErrorCode::NotFound, message).with_hint("`instructions_list` lists the ids."));
    };
    Ok(ResourceText {
        body: ResourceBody::Text(found.text),
        mime_type: "text/markdown".to_owned(),
        meta: Some(json!({ "sourceHash": source_hash, "revision": found.revision })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn instructions_are_read_with_and_without_a_project() {
        let named = |rest: &str| parse(rest).unwrap().arguments;
        assert_eq!(named("no-secrets"), json!({ "id": "no-secrets", "project_id": null }));
        assert_eq!(named("a/?project=client-a"), json!({ "id": "a", "project_id": "client-a" }));
        for rest in ["", "?project=a", "%zz", "a?project=%"] {
            assert!(parse(rest).is_err(), "{rest}");
        }
    }

    #[test]
    fn an_id_that_does_not_exist_is_said() {
        let request = parse("no-secrets").unwrap();
        let answer = |hash: Option<&str>| json!({ "text": "# T\n", "sourceHash": hash, "revision": 7 });
        let found = render(&request, answer(Some("ab"))).unwrap();
        assert!(matches!(found.body, ResourceBody::Text(text) if text == "# T\n"));
        assert_eq!(found.meta, Some(json!({ "sourceHash": "ab", "revision": 7 })));
        let fault = render(&request, answer(None)).err().unwrap();
        assert_eq!(
            (fault.code, fault.message.as_str()),
            (ErrorCode::NotFound, "The catalog has no instruction `no-secrets`.")
        );
        assert!(render(&request, json!({})).is_err());
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
