//! The token of a forge. It can be neither printed nor stored: only the headers of a call and a search for it in texts read it.

use std::io::ErrorKind;

use contract::Fault;
use contract::config::LaunchForge;
use platform::safe_open::read_secret;
use platform::task::blocking;

use super::faults::not_retryable;

/// Maximum length of a token in bytes. Those of forges have less than 300.
const TOKEN_BYTES_MAX: usize = 4096;
/// Prefixes of forges' tokens. An answer of a forge that contains one of them is not repeated.
const TOKEN_BEGINNINGS: [&str; 5] = ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-"];

/// A token.
pub(super) struct Token(String);

impl Token {
    /// Reads the token. It is read for each publication, so that it can be replaced.
    ///
    /// # Errors
    /// `COMMIT_SERVICE_ERROR` if the file cannot be read or its first line is not a token.
    pub(super) async fn read(settings: &LaunchForge) -> Result<Self, Fault> {
        let refused = |problem: &str, hint: &str| {
            not_retryable(format!("The token_file of the forge `{}` {problem}.", settings.name))
                .with_hint(hint)
        };
        let file = settings.token_file.clone();
        let read = blocking(move || Ok(read_secret(&file))).await?;
        let malformed = || {
            refused(
                "has no token in its first line",
                "The operator writes the token alone into its first line.",
            )
        };
        let token = read.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => malformed(),
            _ => refused(
                "cannot be read",
                "The operator checks that it exists and that the server's user may read it.",
            )
            .with_local_hint(format!(
                "Check that {} exists and that the server's user may read it.",
                settings.token_file.display()
            ))
            .with_source(error),
        })?;
        if token.len() > TOKEN_BYTES_MAX || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        Ok(Self(token))
    }

    /// The text, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns `true` if a text contains this token, or may contain another one.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        text.contains(&self.0) || TOKEN_BEGINNINGS.iter().any(|beginning| text.contains(beginning))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::forge;
    use contract::ErrorCode;
    use contract::config::ForgeKind;

    #[tokio::test]
    async fn the_token_is_the_first_line_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let settings = LaunchForge { token_file: file.clone(), ..forge(ForgeKind::Github) };
        let Err(missing) = Token::read(&settings).await else { panic!("there is no file") };
        let path = folder.path().to_string_lossy().into_owned();
        assert_eq!((missing.code, missing.retryable), (ErrorCode::CommitServiceError, false));
        assert!(!missing.message.contains(&path) && missing.local_hint.unwrap().contains(&path));
        for (text, expected) in [("secret\n", "secret"), ("  secret  \nmore", "secret")] {
            std::fs::write(&file, text).unwrap();
            assert!(Token::read(&settings).await.is_ok_and(|token| token.expose() == expected));
        }
        for text in ["", "\nsecret", "two words", "sécret", &"x".repeat(TOKEN_BYTES_MAX + 1)] {
            std::fs::write(&file, text).unwrap();
            let Err(fault) = Token::read(&settings).await else { panic!("{text} is no token") };
            assert!(text.is_empty() || !fault.to_string().contains(text), "{fault}");
        }
    }

    #[test]
    fn a_token_in_a_text_is_noticed() {
        let token = Token("secret".to_owned());
        assert!(
            token.may_be_in("a secret word") && token.may_be_in("ghp_0123") && token.may_be_in("glpat-x")
        );
        assert!(!token.may_be_in("Reference already exists"));
    }
}
