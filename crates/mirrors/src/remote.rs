//! Asks a host about a repository: its default branch with the commit, and its other branches and tags.

use std::path::Path;
use std::time::Duration;

use super::explain::{self, Failure};
use super::git_program::{Git, LIST_BYTES_MAX};
use contract::{ErrorCode, Fault, RepositoryAddress};
use platform::process::ProgramOutput;

/// Longest name of a branch or a tag, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 255;

/// The default branch of a repository on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RemoteHead {
    /// The reference, such as `refs/heads/main`; `None` if the host does not name the branch.
    pub(super) reference: Option<String>,
    /// The commit, in hex.
    pub(super) commit: String,
    /// The address that the host accepts, with or without `.git`.
    pub(super) url: String,
}

impl RemoteHead {
    /// The name of the branch.
    pub(super) fn branch(&self) -> Option<&str> {
        self.reference.as_deref().and_then(|reference| reference.strip_prefix("refs/heads/"))
    }
}

/// The answer of a host.
#[derive(Debug)]
pub(super) struct RemoteAnswer {
    /// The default branch.
    pub(super) head: RemoteHead,
    /// The references, each on a line: `<id><TAB><name>`.
    pub(super) lines: Vec<u8>,
    /// `true` if there are more lines, and the last one may be incomplete.
    pub(super) is_cut: bool,
}

/// A query to a host.
pub(super) struct RemoteQuery<'a> {
    pub(super) git: &'a Git<'a>,
    pub(super) address: &'a RepositoryAddress,
    /// The file for the list of branches and tags; `None` to ask for the default branch alone.
    pub(super) list_file: Option<&'a Path>,
    /// Time limit for each spelling of the address.
    pub(super) timeout: Duration,
    pub(super) must_stop: &'a dyn Fn() -> bool,
}

impl RemoteQuery<'_> {
    /// Asks the host, at `known_url` if that is known, or else under each spelling of the address.
    ///
    /// # Errors
    /// `REPO_NOT_FOUND`, `FORBIDDEN`, `COMMIT_SERVICE_ERROR`, `TOOL_TIMEOUT`, `CANCELLED`; `INVALID_REQUEST` if the repository
    /// is empty.
    pub(super) fn ask(&self, known_url: Option<&str>) -> Result<RemoteAnswer, Fault> {
        let spellings = match known_url {
            Some(url) => vec![url.to_owned()],
            None => spellings(self.address),
        };
        let mut first_refusal = None;
        for url in spellings {
            let (output, lines) = self.list(&url)?;
            let is_cut = lines.len() >= LIST_BYTES_MAX;
            if output.status.success() || is_cut {
                let head = parse(&String::from_utf8_lossy(&lines), url).ok_or_else(|| empty(self.address))?;
                return Ok(RemoteAnswer { head, lines, is_cut });
            }
            let may_be_spelled_otherwise = matches!(
                explain::failure(&output, &url),
                Failure::NotFound | Failure::Moved | Failure::Refused
            );
            let fault = explain::fault(&output, self.address, &url);
            if !may_be_spelled_otherwise {
                return Err(fault);
            }
            first_refusal.get_or_insert(fault);
        }
        Err(first_refusal.unwrap_or_else(|| empty(self.address)))
    }

    fn list(&self, url: &str) -> Result<(ProgramOutput, Vec<u8>), Fault> {
        let upload_pack = self.git.upload_pack_option();
        let arguments = ["ls-remote", "--symref"].into_iter().chain(upload_pack.as_deref());
        let arguments = arguments.chain(["--", url, "HEAD"]);
        let Some(file) = self.list_file else {
            let mut output = self.git.run(None, arguments, self.timeout, self.must_stop)?;
            let lines = std::mem::take(&mut output.stdout);
            return Ok((output, lines));
        };
        let arguments = arguments.chain(["refs/heads/*", "refs/tags/*"]);
        self.git.run_for_list(file, arguments, self.timeout, self.must_stop)
    }
}

/// Returns the spellings under which hosts serve a repository, the likelier one first.
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

/// Returns `true` if a text is the id of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns `true` if a reference is a branch with a usable name.
fn is_branch(reference: &str) -> bool {
    reference.strip_prefix("refs/heads/").is_some_and(is_usable_name)
}

/// Returns `true` if git accepts the short name of a branch or a tag, and it cannot be mistaken for an option or a pattern.
pub(super) fn is_usable_name(name: &str) -> bool {
    const FORBIDDEN: [char; 9] = [' ', '~', '^', ':', '?', '*', '[', '\\', '\u{7f}'];
    let has_bad_letter = name.chars().any(|letter| letter.is_control() || FORBIDDEN.contains(&letter));
    let has_bad_part = name.split('/').any(|part| {
        part.is_empty() || part.starts_with('.') || part.starts_with('-') || part.ends_with(".lock")
    });
    let has_bad_text = name.contains("..") || name.contains("@{") || name.ends_with('.');
    name.len() <= NAME_BYTES_MAX && !has_bad_letter && !has_bad_part && !has_bad_text
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
            "main", "refs/heads/", "refs/heads/-x", "refs/heads/a/../b", "refs/heads/a:b", "refs/heads/a*",
            "refs/heads/x.lock", "refs/heads/x.", "refs/heads/@{u}", "refs/tags/v1", "refs/heads/a\tb",
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
