//! What is brought from outside: word lists and extensions, by the real tools, from a server on loopback.

mod children;
mod dictionaries;
mod extensions;
mod killed;
mod offline;

use std::path::Path;
use std::sync::Arc;

use contract::config::AllowedDownload;
use pairofcleats::app::App;
use pairofcleats::tools::{self, Caller, Request, Surface};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tenancy::{Principal, Projects, Scope};

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn allowed(name: &str, url: &str, sha256: Option<String>) -> AllowedDownload {
    AllowedDownload { name: name.to_owned(), url: url.to_owned(), sha256 }
}

/// A caller from elsewhere with these projects and the scope `admin`.
fn remote(projects: Projects) -> Caller {
    let principal = Principal { projects, scopes: [Scope::Admin].into(), ..Principal::anonymous() };
    Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) }
}

/// What a caller's call comes to: the result, or the error's code.
async fn asked_by(app: &Arc<App>, caller: Caller, tool: &str, arguments: Value) -> Result<Value, String> {
    let envelope = tools::call(app, Request::new(tool, arguments, caller)).await.unwrap();
    let mut envelope = serde_json::to_value(envelope).unwrap();
    if envelope["ok"] == true {
        Ok(envelope["result"].take())
    } else {
        Err(envelope["error"]["code"].as_str().unwrap().to_owned())
    }
}

/// Names in a folder, hidden ones left out.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}
