//! Asks a host what a repository has: its default branch and the commit of it.

use std::time::Duration;

use super::explain::{self, Failure};
use super::git_program::Git;
use contract::{ErrorCode, Fault, RepositoryAddress};

/// The default branch of a repository on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteHead {
    /// The reference, such as `refs/heads/main`; `None` if the host does not say which branch it is.
    pub(super) reference: Option<String>,
    /// The commit, in hex.
    pub(super) commit: String,
    /// The address that the host understands, with or without `.git`.
    pub(super) url: String,
}

impl RemoteHead {
    /// The name of the branch.
    pub(super) fn branch(&self) -> Option<&str> {
        self.reference.as_deref().and_then(|reference| reference.strip_prefix("refs/heads/"))
    }
}

/// Asks for the default branch.
///
/// # Errors
/// `REPO_NOT_FOUND`, `FORBIDDEN`, `COMMIT_SERVICE_ERROR`, `TOOL_TIMEOUT`, `CANCELLED`; `INVALID_REQUEST` if the repository is
/// empty.
pub(super) fn head(
    git: &Git<'_>,
    address: &RepositoryAddress,
    known_url: Option<&str>,
    timeout: Duration,
    must_stop: &dyn Fn() -> bool,
) -> Result<RemoteHead, Fault> {
    let spellings = match known_url {
        Some(url) => vec![url.to_owned()],
        None => spellings(address),
    };
    let mut first_refusal = None;
    for url in spellings {
        let upload_pack = git.upload_pack_option();
        let arguments = ["ls-remote", "--symref"].into_iter().chain(upload_pack.as_deref());
        let output = git.run(None, arguments.chain(["--", &url, "HEAD"]), timeout, must_stop)?;
        if output.status.success() {
            return parse(&String::from_utf8_lossy(&output.stdout), url).ok_or_else(|| empty(address));
        }
        let may_be_spelled_otherwise =
            matches!(explain::failure(&output, &url), Failure::NotFound | Failure::Moved | Failure::Refused);
        let fault = explain::fault(&output, address, &url);
        if !may_be_spelled_otherwise {
            return Err(fault);
        }
        first_refusal.get_or_insert(fault);
    }
    Err(first_refusal.unwrap_or_else(|| empty(address)))
}

/// The spellings under which hosts serve a repository, the likelier one first.
fn spellings(address: &RepositoryAddress) -> Vec<String> {
    let plain = address.as_str().to_owned();
    let with_ending = format!("{plain}.git");
    match address.scheme() {
        "file" => vec![plain],
        // Azure DevOps serves no such ending.
        _ if address.path().contains("/_git/") => vec![plain, with_ending],
        _ => vec![with_ending, plain],
    }
}

/// Reads the answer of `ls-remote --symref`: `ref: refs/heads/main<TAB>HEAD`, then `<id><TAB>HEAD`.
fn parse(answer: &str, url: String) -> Option<RemoteHead> {
    let mut reference = None;
    for line in answer.lines() {
        let Some((value, "HEAD")) = line.split_once('\t') else { continue };
        match value.strip_prefix("ref: ") {
            Some(name) => reference = is_branch(name).then(|| name.to_owned()),
            None if is_commit(value) => return Some(RemoteHead { reference, commit: value.to_owned(), url }),
            None => {}
        }
    }
    None
}

/// Whether a text is the id of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a reference is a branch with a name that git accepts and that nothing can take for an option or a pattern.
fn is_branch(reference: &str) -> bool {
    const FORBIDDEN: [char; 9] = [' ', '~', '^', ':', '?', '*', '[', '\\', '\u{7f}'];
    let Some(name) = reference.strip_prefix("refs/heads/") else { return false };
    let has_bad_letter = name.chars().any(|letter| letter.is_control() || FORBIDDEN.contains(&letter));
    let has_bad_part = name.split('/').any(|part| {
        part.is_empty() || part.starts_with('.') || part.starts_with('-') || part.ends_with(".lock")
    });
    name.len() <= 255 && !has_bad_letter && !has_bad_part && !name.contains("..") && !name.contains("@{")
}

fn empty(address: &RepositoryAddress) -> Fault {
    Fault::new(ErrorCode::InvalidRequest, format!("{address} has no commit on its default branch."))
        .with_hint("Push a commit, or correct the default branch on the host, then index it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_default_branch_is_read() {
        let read = |text: &str| parse(text, "u".to_owned()).map(|head| (head.reference, head.commit));
        let both = format!("ref: refs/heads/main\tHEAD\n{ID}\tHEAD\n");
        assert_eq!(read(&both), Some((Some("refs/heads/main".to_owned()), ID.to_owned())));
        assert_eq!(read(&format!("{ID}\tHEAD\n")), Some((None, ID.to_owned())));
        assert_eq!(read(""), None);
        assert_eq!(read("ref: refs/heads/main\tHEAD\nnonsense\tHEAD\n"), None);
    }

    #[test]
    fn references_that_mean_something_else_are_not_used() {
        for name in ["refs/heads/main", "refs/heads/release/1.0", "refs/heads/a@b", "refs/heads/größe"] {
            assert!(is_branch(name), "{name}");
        }
        for name in [
            "main",
            "refs/heads/",
            "refs/heads/-x",
            "refs/heads/a/../b",
            "refs/heads/a:b",
            "refs/heads/a*",
            "refs/heads/x.lock",
            "refs/heads/@{u}",
            "refs/tags/v1",
            "refs/heads/a\tb",
        ] {
            assert!(!is_branch(name), "{name}");
        }
    }

    #[test]
    fn hosts_are_asked_for_both_spellings() {
        let of = |text: &str| spellings(&RepositoryAddress::parse(text).unwrap().unwrap());
        assert_eq!(of("https://host/a"), ["https://host/a.git", "https://host/a"]);
        assert_eq!(of("https://host/o/p/_git/r")[0], "https://host/o/p/_git/r");
        assert_eq!(of("file:///srv/x"), ["file:///srv/x"]);
    }
}
