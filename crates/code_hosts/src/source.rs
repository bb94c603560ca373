//! A source whose settings were checked.

use std::io::ErrorKind;
use std::path::Path;

use contract::config::{SourceKind, SourceSettings};
use contract::{ErrorCode, Fault, ProjectId};
use platform::outbound::Url;
use platform::safe_open::read_secret;
use platform::task::blocking;

use crate::filter::Filter;
use crate::host::CodeHost;
use crate::project::project_of;
use crate::repository::RemoteRepository;

/// Maximum length of a token in bytes. Those of the hosts have less than 300.
const TOKEN_BYTES_MAX: usize = 4096;

/// A source that can be listed, made by [`Source::new`].
#[derive(Debug, Clone)]
pub struct Source {
    pub(crate) settings: SourceSettings,
    pub(crate) origin: Origin,
    pub(crate) filter: Filter,
}

/// The origin of a source's list of repositories.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// By the API of a host.
    Api(Api),
    /// In the settings.
    Settings(Vec<RemoteRepository>),
}

/// The API of a host.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) host: &'static dyn CodeHost,
    pub(crate) root: Url,
}

impl Source {
    /// Returns its name in the settings.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        self.settings.kind
    }

    /// Returns its conditions on repositories.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns the project that gets a repository; `None` if no id can be made from the repository's names.
    #[must_use]
    pub fn project(&self, repository: &RemoteRepository) -> Option<ProjectId> {
        project_of(self.settings.project.as_deref(), &repository.full_name)
    }

    /// Returns the file with its token.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.settings.token_file.as_deref()
    }

    /// Reads the token; `None` if the settings name no file. It is read for each listing, so that it can be replaced.
    ///
    /// # Errors
    /// `INVALID_INPUT` if the file cannot be read or its first line is not a token.
    pub(crate) async fn token(&self) -> Result<Option<String>, Fault> {
        let Some(file) = self.token_file() else { return Ok(None) };
        let refused = |problem: &str, hint: &str| {
            let message = format!("The token_file of the source `{}` {problem}.", self.name());
            Fault::new(ErrorCode::InvalidInput, message).with_hint(hint)
        };
        let path = file.to_owned();
        let read = blocking(move || Ok(read_secret(&path))).await?;
        let malformed =
            || refused("has no token in its first line", "Write the token alone into its first line.");
        let token = read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => malformed(),
            _ => refused("cannot be read", "Check that it exists and that the server's user may read it.")
                .with_local_hint(format!(
                    "Check that {} exists and that the server's user may read it.",
                    file.display()
                ))
                .with_source(error),
        })?;
        if token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        Ok(Some(token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::settings;

    #[tokio::test]
    async fn the_token_is_the_first_line_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let settings = SourceSettings { token_file: Some(file.clone()), ..settings("github") };
        let source = Source::new(&settings).unwrap();
        let missing = source.token().await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::InvalidInput);
        let path = folder.path().to_string_lossy().into_owned();
        assert!(!missing.message.contains(&path), "the path is for callers on this machine: {missing}");
        assert!(missing.local_hint.unwrap().contains(&path));
        for (text, expected) in [("secret\n", "secret"), ("  secret  \nmore", "secret"), ("u:p", "u:p")] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(source.token().await.unwrap().as_deref(), Some(expected));
        }
        for text in ["", "\nsecret", "two words", "sécret", "a\u{7f}b", &"x".repeat(TOKEN_BYTES_MAX + 1)] {
            std::fs::write(&file, text).unwrap();
            let fault = source.token().await.unwrap_err();
            assert!(fault.message.contains("token_file") && fault.hint.is_some(), "{fault}");
            assert!(text.is_empty() || !fault.message.contains(text), "{fault}");
        }
    }
}
