//! Downloads of word lists and extensions, through the real tools, from a server on loopback.

mod children;
mod dictionaries;
mod extensions;
mod killed;
mod offline;

use std::path::Path;
use std::sync::Arc;

use contract::config::AllowedDownload;
use gate::app::App;
use gate::tools::{self, Caller, Request, Surface};
pub(crate) use platform::sha256::digest_hex as sha256;
use serde_json::Value;
use tenancy::{Principal, Projects, Scope};

fn allowed_download(name: &str, url: &str, sha256: Option<String>) -> AllowedDownload {
    AllowedDownload { name: name.to_owned(), url: url.to_owned(), sha256 }
}

/// An HTTP client with a key for these projects and the scope `admin`.
fn remote_caller(projects: Projects) -> Caller {
    let principal = Principal { projects, scopes: [Scope::Admin].into(), ..Principal::anonymous() };
    Caller { principal: Arc::new(principal), ..Caller::local(Surface::Http) }
}

/// Calls a tool as `caller`: the result, or the code of the error.
async fn call_as(app: &Arc<App>, caller: Caller, tool: &str, arguments: Value) -> Result<Value, String> {
    let envelope = tools::call(app, Request::new(tool, arguments, caller)).await.unwrap();
    let mut envelope = serde_json::to_value(envelope).unwrap();
    if envelope["ok"] == true {
        Ok(envelope["result"].take())
    } else {
        Err(envelope["error"]["code"].as_str().unwrap().to_owned())
    }
}

/// The sorted names in a folder, without hidden files; empty if there is no folder.
fn visible_files(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}
