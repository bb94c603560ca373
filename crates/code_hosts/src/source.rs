//! A source whose settings were checked.

use std::path::Path;

use contract::config::{SourceKind, SourceSettings};
use contract::{ErrorCode, Fault, ProjectId};
use platform::outbound::Url;

use crate::filter::Filter;
use crate::host::CodeHost;
use crate::project::project_of;
use crate::repository::RemoteRepository;

/// Longest token in bytes. Those of the hosts have less than 300.
const TOKEN_BYTES_MAX: usize = 4096;

/// A source that can be listed, made by [`Source::new`].
#[derive(Debug, Clone)]
pub struct Source {
    pub(crate) settings: SourceSettings,
    pub(crate) origin: Origin,
    pub(crate) filter: Filter,
}

/// Where the repositories of a source are listed.
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
    /// Its name in the settings.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        self.settings.kind
    }

    /// Its conditions on repositories.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The project that gets a repository; `None` if no id can be made of the repository's names.
    #[must_use]
    pub fn project(&self, repository: &RemoteRepository) -> Option<ProjectId> {
        project_of(self.settings.project.as_deref(), &repository.full_name)
    }

    /// The file with its token.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.settings.token_file.as_deref()
    }

    /// Whether the token may be sent to the address of a repository: it is on the host of the API, which for `api.github.com` is
    /// `github.com`. A host could otherwise have the token sent anywhere. Addresses that the settings list are trusted with it.
    #[must_use]
    pub fn may_send_token(&self, repository: &RemoteRepository) -> bool {
        let Origin::Api(api) = &self.origin else { return true };
        let Ok(url) = Url::parse(&repository.clone_url) else { return false };
        let host = api.root.host_str().unwrap_or_default();
        let is_same_host =
            url.host_str().is_some_and(|own| own == host || host.strip_prefix("api.") == Some(own));
        is_same_host
            && url.scheme() == api.root.scheme()
            && url.port_or_known_default() == api.root.port_or_known_default()
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
        let text = tokio::fs::read_to_string(file).await.map_err(|error| {
            refused("cannot be read", "Check that it exists and that the server's user may read it.")
                .with_local_hint(format!(
                    "Check that {} exists and that the server's user may read it.",
                    file.display()
                ))
                .with_source(error)
        })?;
        let token = text.lines().next().unwrap_or_default().trim();
        let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.is_empty() || token.len() > TOKEN_BYTES_MAX || !is_plain {
            return Err(refused(
                "has no token in its first line",
                "Write the token alone into its first line.",
            ));
        }
        Ok(Some(token.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{repository, settings};

    #[test]
    fn the_token_goes_to_the_host_of_the_api_only() {
        let may_send = |kind: &str, url: Option<&str>, clone_url: &str| {
            let settings = SourceSettings { url: url.map(str::to_owned), ..settings(kind) };
            let repository = RemoteRepository { clone_url: clone_url.to_owned(), ..repository("acme/shop") };
            Source::new(&settings).unwrap().may_send_token(&repository)
        };
        for (kind, url, clone_url) in [
            ("github", None, "https://github.com/acme/shop.git"),
            ("bitbucket", None, "https://bitbucket.org/acme/shop.git"),
            ("github", Some("https://github.acme.example"), "https://github.acme.example/acme/shop.git"),
            ("gitlab", Some("https://git.acme.example:8443"), "https://git.acme.example:8443/acme/shop.git"),
            ("gitea", Some("http://127.0.0.1:3000"), "http://127.0.0.1:3000/acme/shop.git"),
        ] {
            assert!(may_send(kind, url, clone_url), "{clone_url}");
        }
        for (kind, url, clone_url) in [
            ("github", None, "https://evil.example/acme/shop.git"),
            ("github", None, "https://github.com.evil.example/acme/shop.git"),
            ("github", None, "https://github.com:8443/acme/shop.git"),
            ("gitlab", Some("https://git.acme.example"), "https://acme.example/acme/shop.git"),
            ("gitea", Some("http://127.0.0.1:3000"), "http://127.0.0.1:3001/acme/shop.git"),
        ] {
            assert!(!may_send(kind, url, clone_url), "{clone_url}");
        }
    }

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
