//! Selects the wanted repositories of a source.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use contract::config::SourceSettings;

use crate::repository::RemoteRepository;

/// The conditions of a source on its repositories.
#[derive(Debug, Clone)]
pub struct Filter {
    /// In lower case; empty: any.
    topics: Vec<String>,
    /// `None`: all names.
    include: Option<GlobSet>,
    exclude: GlobSet,
    forks: bool,
    archived: bool,
}

impl Filter {
    /// Reads the conditions of a source.
    ///
    /// # Errors
    /// The malformed glob, as part of a sentence.
    pub(crate) fn new(settings: &SourceSettings) -> Result<Self, String> {
        let include = globs(&settings.include)?;
        Ok(Self {
            topics: settings.topics.iter().map(|topic| topic.to_lowercase()).collect(),
            include: (!include.is_empty()).then_some(include),
            exclude: globs(&settings.exclude)?,
            forks: settings.forks,
            archived: settings.archived,
        })
    }

    /// Returns `true` if a repository is wanted. `*` in a glob stays within a part of the name and `**` does not; case is ignored, as hosts
    /// compare names.
    #[must_use]
    pub fn passes(&self, repository: &RemoteRepository) -> bool {
        let has_topic = |topic: &String| repository.topics.iter().any(|own| own.to_lowercase() == *topic);
        (self.forks || !repository.is_fork)
            && (self.archived || !repository.is_archived)
            && (self.topics.is_empty() || self.topics.iter().any(has_topic))
            && self.include.as_ref().is_none_or(|include| include.is_match(&repository.full_name))
            && !self.exclude.is_match(&repository.full_name)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(true).build();
        set.add(
            glob.map_err(|error| format!("`{}` is not a glob: {}", contract::echo(pattern), error.kind()))?,
        );
    }
    set.build().map_err(|error| format!("its globs are too large: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{repository, settings};

    fn filter(change: impl FnOnce(&mut SourceSettings)) -> Filter {
        let mut settings = settings("github");
        change(&mut settings);
        Filter::new(&settings).unwrap()
    }

    #[test]
    fn forks_and_archived_repositories_pass_where_they_are_wanted() {
        let plain = repository("acme/shop");
        let fork = RemoteRepository { is_fork: true, ..plain.clone() };
        let archived = RemoteRepository { is_archived: true, ..plain.clone() };
        let passing =
            |filter: &Filter| [&plain, &fork, &archived].map(|repository| filter.passes(repository));
        assert_eq!(passing(&filter(|_| {})), [true, false, false]);
        assert_eq!(passing(&filter(|settings| settings.forks = true)), [true, true, false]);
        assert_eq!(passing(&filter(|settings| settings.archived = true)), [true, false, true]);
    }

    #[test]
    fn one_of_the_topics_is_enough() {
        let filter = filter(|settings| settings.topics = vec!["Rust".into(), "backend".into()]);
        let with = |topics: &[&str]| RemoteRepository {
            topics: topics.iter().map(|&topic| topic.to_owned()).collect(),
            ..repository("acme/shop")
        };
        assert!(filter.passes(&with(&["backend"])) && filter.passes(&with(&["web", "rust"])));
        assert!(!filter.passes(&with(&[])) && !filter.passes(&with(&["rusty"])));
    }

    #[test]
    fn globs_select_names() {
        let passes = |include: &[&str], exclude: &[&str], name: &str| {
            let owned =
                |globs: &[&str]| -> Vec<String> { globs.iter().map(|&glob| glob.to_owned()).collect() };
            let filter = filter(|settings| {
                settings.include = owned(include);
                settings.exclude = owned(exclude);
            });
            filter.passes(&repository(name))
        };
        assert!(passes(&[], &[], "acme/shop"));
        assert!(passes(&["acme/*"], &["*/archive-*"], "acme/shop"));
        assert!(passes(&["ACME/*"], &[], "acme/Shop"), "letters match in both cases");
        assert!(!passes(&["acme/*"], &["*/archive-*"], "acme/archive-2020"));
        assert!(!passes(&["acme/*"], &[], "other/shop"));
        assert!(!passes(&["acme/*"], &[], "acme/team/shop"), "a star stays within a part of the name");
        assert!(passes(&["acme/**"], &[], "acme/team/shop"));
        assert!(!passes(&[], &["**/archive-*"], "acme/team/archive-2020"));
        assert!(passes(&["acme/{shop,api}"], &[], "acme/api"));
    }

    #[test]
    fn malformed_globs_are_named() {
        let settings = SourceSettings { include: vec!["acme/[".into()], ..settings("github") };
        let problem = Filter::new(&settings).unwrap_err();
        assert!(problem.contains("`acme/[`"), "{problem}");
    }
}
