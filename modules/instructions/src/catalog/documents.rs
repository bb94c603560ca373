//! The documents of a catalog, in addition to its entries: checked when they are written, so that none fails when it is used.

use contract::{ErrorCode, Fault};
use instructions::gates::Gates;
use instructions::review::Criteria;
use serde_json::{Value, json};

use super::read::Document;

/// The documents as texts.
///
/// # Errors
/// `INVALID_REQUEST` with the problem.
pub(crate) fn checked_documents(
    gates: Option<Value>,
    criteria: Option<Value>,
) -> Result<Vec<(Document, String)>, Fault> {
    let mut documents = Vec::new();
    if let Some(gates) = gates {
        let text = gates.to_string();
        Gates::parse(&text).map_err(|error| invalid("gates", error))?;
        documents.push((Document::Gates, text));
    }
    if let Some(criteria) = criteria {
        let text = criteria.to_string();
        Criteria::with_project(&text).map_err(|error| invalid("criteria", error))?;
        documents.push((Document::Criteria, text));
    }
    Ok(documents)
}

fn invalid(field: &str, message: String) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, message).with_details(json!({ "field": field }))
}
