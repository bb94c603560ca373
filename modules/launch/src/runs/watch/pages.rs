//! The current text of a run's pages: from the base branch of the site once they are there, before that as the run wrote them.

use contract::config::{LOCAL_FORGE, LaunchSite};
use contract::{ErrorCode, Fault};
use launch::freshness::{MarkedSentence, marked_sentences};
use launch::site::SiteFiles;
use launch::state::RunState;
use store::launch::RunRow;

use crate::runs::site::{RunSite, TreeFiles};

/// Longest page that is read.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The pages of a run, and where to look for them.
pub(super) struct RunPages {
    site: RunSite,
    /// The commit of the base branch.
    head: String,
    /// Paths of the pages.
    paths: Vec<String>,
    site_sha: String,
    site_tree: Option<String>,
    /// The branch with the pages, which has to exist still.
    branch: Option<String>,
}

impl RunPages {
    /// The pages with these paths that a run wrote for a site with this head.
    pub(super) fn new(
        profile: &LaunchSite,
        site: RunSite,
        head: String,
        run: &RunRow,
        paths: Vec<String>,
    ) -> Self {
        let is_published =
            RunState::parse(&run.state).is_some_and(|state| state.has_reached(RunState::PrOpened));
        // Only a forge knows whether its branch still exists.
        let is_local = profile.forge == LOCAL_FORGE;
        Self {
            site,
            head,
            paths,
            site_sha: run.site_sha.clone(),
            site_tree: run.site_tree.clone(),
            branch: run.branch.clone().filter(|_| is_published && is_local),
        }
    }

    /// Their sentences that have the mark of a claim. Blocks.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the site cannot be read.
    pub(super) fn sentences(&self) -> Result<Vec<MarkedSentence>, Fault> {
        let Some(files) = self.files()? else { return Ok(Vec::new()) };
        let text = |path: &String| {
            let bytes = files.read(path).filter(|bytes| bytes.len() <= PAGE_BYTES_MAX)?;
            String::from_utf8(bytes).ok()
        };
        let pages = self.paths.iter().filter_map(|path| Some(marked_sentences(path, text(path)?)));
        Ok(pages.flatten().collect())
    }

    /// The site with the pages; `None` if they are nowhere.
    fn files(&self) -> Result<Option<TreeFiles>, Fault> {
        if self.head != self.site_sha {
            let (before, now) = (self.files_at(&self.site_sha, None)?, self.files_at(&self.head, None)?);
            let read =
                |files: &Option<TreeFiles>, path: &str| files.as_ref().and_then(|files| files.read(path));
            // As soon as one page is not what it was before the run, people have taken them over, and say which ones stay.
            if self.paths.iter().any(|path| read(&now, path) != read(&before, path)) {
                return Ok(now);
            }
        }
        if let Some(branch) = &self.branch
            && !self.site.has_branch(branch)?
        {
            return Ok(None);
        }
        match &self.site_tree {
            Some(tree) => self.files_at(&self.site_sha, Some(tree)),
            None => Ok(None),
        }
    }

    /// The files of a commit or a tree; `None` if git has removed them.
    fn files_at(&self, commit: &str, tree: Option<&str>) -> Result<Option<TreeFiles>, Fault> {
        match self.site.files(commit, tree) {
            Ok(files) => Ok(Some(files)),
            Err(fault) if fault.code == ErrorCode::IllegalState => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}
