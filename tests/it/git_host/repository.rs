//! A repository of the host, and what its owner does with it. Commits are written without a working tree; equal ones, after equal
//! parents, have equal ids on every machine.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::trees::{self, TreeEntry};
use super::{Faults, State, program};

/// Settings that real hosts have: clones without the content of files, and fetches of a commit by its id.
const CONFIGURATION: &str = "[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n";

/// The date of a first commit, in seconds; each commit is a minute after its parent.
const FIRST_SECONDS: u64 = 1_700_000_000;

/// A repository of the host.
pub(crate) struct HostedRepository {
    state: Arc<State>,
    name: String,
}

impl HostedRepository {
    pub(super) fn create(state: &Arc<State>, name: &str) -> Self {
        let repository = Self { state: Arc::clone(state), name: name.to_owned() };
        let path = repository.path();
        assert!(!path.exists(), "the host has {name} already");
        // A new repository has nothing of one that was deleted.
        state.faults_by_name.lock().unwrap().remove(name);
        fs::create_dir_all(&path).unwrap();
        repository.git(&["init", "--quiet", "--bare", "--template=", "--initial-branch=main"], b"");
        let mut file = fs::OpenOptions::new().append(true).open(path.join("config")).unwrap();
        file.write_all(CONFIGURATION.as_bytes()).unwrap();
        repository
    }

    /// `http://127.0.0.1:PORT/owner/name.git`
    pub(crate) fn url(&self) -> String {
        format!("{}/{}.git", self.state.url, self.name)
    }

    /// The bare repository on disk.
    pub(crate) fn path(&self) -> PathBuf {
        self.state.repositories().join(format!("{}.git", self.name))
    }

    /// The faults of this repository, besides those of the host.
    pub(crate) fn faults(&self) -> Faults {
        self.state.faults_of(&self.name)
    }

    /// The tree of the newest commit of the default branch.
    pub(crate) fn tree(&self) -> String {
        self.git(&["rev-parse", "HEAD^{tree}"], b"")
    }

    /// The newest commit of the default branch, which must have one.
    pub(crate) fn head(&self) -> String {
        self.commit_at("HEAD").expect("the default branch has no commit")
    }

    /// Commits these files, with path and content, to the default branch; other files stay. Returns the id of the commit.
    pub(crate) fn commit(&self, files: &[(&str, &str)], message: &str) -> String {
        self.commit_to(&self.default_branch(), files, message)
    }

    /// As [`Self::commit`], to another branch, which starts at the default branch if it is new.
    pub(crate) fn commit_to(&self, branch: &str, files: &[(&str, &str)], message: &str) -> String {
        let mut changes = String::new();
        for (path, content) in files {
            let length = content.len();
            changes.push_str(&format!("M 100644 inline {}\ndata {length}\n{content}\n", quoted(path)));
        }
        self.import(branch, &changes, message)
    }

    /// Commits the removal of these files from the default branch. Returns the id of the commit.
    pub(crate) fn remove(&self, paths: &[&str]) -> String {
        let changes: String = paths.iter().map(|path| format!("D {}\n", quoted(path))).collect();
        self.import(&self.default_branch(), &changes, "Remove files")
    }

    /// Commits a tree of exactly these entries, however odd, to the default branch. Returns the id of the commit.
    pub(crate) fn commit_tree_with(&self, entries: &[TreeEntry], message: &str) -> String {
        let tree = trees::write(self, entries);
        let parent = self.commit_at("HEAD");
        let signature = self.signature_after(parent.as_deref());
        let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
        let text = format!("tree {tree}\n{parent}author {signature}\ncommitter {signature}\n\n{message}\n");
        let commit = self.write_object("commit", text.as_bytes());
        self.force_push_to(&commit);
        commit
    }

    /// Makes a branch at the newest commit of the default one.
    pub(crate) fn branch(&self, name: &str) {
        self.set(&format!("refs/heads/{name}"), &self.head());
    }

    /// Deletes a branch.
    pub(crate) fn delete_branch(&self, name: &str) {
        self.git(&["update-ref", "-d", &format!("refs/heads/{name}")], b"");
    }

    /// Makes a lightweight tag at the newest commit of the default branch.
    pub(crate) fn tag(&self, name: &str) {
        self.set(&format!("refs/tags/{name}"), &self.head());
    }

    /// Makes a tag with a message at the newest commit of the default branch. Returns the id of the tag, which is not that of the
    /// commit.
    pub(crate) fn annotated_tag(&self, name: &str, message: &str) -> String {
        let commit = self.head();
        let tagger = self.signature_after(Some(&commit));
        let text = format!("object {commit}\ntype commit\ntag {name}\ntagger {tagger}\n\n{message}\n");
        let tag = self.write_object("tag", text.as_bytes());
        self.set(&format!("refs/tags/{name}"), &tag);
        tag
    }

    /// Makes another branch the default one; it need not exist.
    pub(crate) fn set_default_branch(&self, name: &str) {
        self.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{name}")], b"");
    }

    /// Sets the default branch to any commit that the repository has.
    pub(crate) fn force_push_to(&self, commit: &str) {
        self.set(&format!("refs/heads/{}", self.default_branch()), commit);
    }

    /// Deletes the repository: its URL is answered 404.
    pub(crate) fn delete(&self) {
        fs::remove_dir_all(self.path()).unwrap();
    }

    /// Writes any object, without a check. Returns its id.
    pub(super) fn write_object(&self, kind: &str, bytes: &[u8]) -> String {
        self.git(&["hash-object", "-t", kind, "--literally", "-w", "--stdin"], bytes)
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        program::run(&self.state.home(), &self.path(), arguments, input).unwrap()
    }

    fn set(&self, reference: &str, id: &str) {
        self.git(&["update-ref", reference, id], b"");
    }

    fn default_branch(&self) -> String {
        let reference = self.git(&["symbolic-ref", "HEAD"], b"");
        reference.strip_prefix("refs/heads/").unwrap().to_owned()
    }

    fn commit_at(&self, reference: &str) -> Option<String> {
        let commit = format!("{reference}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", commit.as_str()];
        program::run(&self.state.home(), &self.path(), &arguments, b"").ok()
    }

    /// Who commits, and when.
    fn signature_after(&self, parent: Option<&str>) -> String {
        let count = parent
            .map_or(0, |parent| self.git(&["rev-list", "--count", parent], b"").parse::<u64>().unwrap());
        format!("Ada <ada@example.org> {} +0000", FIRST_SECONDS + 60 * count)
    }

    /// Commits changes, in the language of `git fast-import`.
    fn import(&self, branch: &str, changes: &str, message: &str) -> String {
        let reference = format!("refs/heads/{branch}");
        let parent = self.commit_at(&reference).or_else(|| self.commit_at("HEAD"));
        let signature = self.signature_after(parent.as_deref());
        let from = parent.map(|parent| format!("from {parent}\n")).unwrap_or_default();
        let length = message.len() + 1;
        let stream = format!(
            "commit {reference}\nauthor {signature}\ncommitter {signature}\ndata {length}\n{message}\n{from}{changes}\n"
        );
        self.git(&["fast-import", "--quiet"], stream.as_bytes());
        self.commit_at(&reference).unwrap()
    }
}

/// A path as `git fast-import` reads it.
fn quoted(path: &str) -> String {
    let escaped = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
