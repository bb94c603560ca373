//! Credentials of hosts, which the operator configures by reference: a file, a variable, a helper or a key of SSH.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use contract::config::{self, GitCredentials, environment_variables};
use contract::{ErrorCode, Fault, RepositoryAddress};
use platform::safe_open::read_secret;

/// The user of a password without one. Hosts that take a token as the password ignore it.
const DEFAULT_USER: &str = "git";

/// The means of authentication for one address.
#[derive(Default)]
pub(super) struct Credentials {
    /// The beginning of the addresses to which they are sent, and the value of the header.
    authorization: Option<(String, String)>,
    helper: Option<String>,
    key_file: Option<PathBuf>,
}

impl Credentials {
    /// Returns the credentials of the most specific entry for the address; empty if it has no entry.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if the entry names a file or a variable that cannot be read.
    pub(super) fn for_address(settings: &config::Git, address: &RepositoryAddress) -> Result<Self, Fault> {
        let entries = settings.credentials.iter().filter_map(|entry| {
            let prefix = RepositoryAddress::parse_prefix(&entry.url)?.ok()?;
            address.is_within(&prefix).then(|| (prefix.as_str().to_owned(), entry))
        });
        let Some((_, entry)) = entries.max_by_key(|(prefix, _)| prefix.len()) else {
            return Ok(Self::default());
        };
        let authorization = password(entry)?.map(|password| {
            let user = entry.username.as_deref().unwrap_or(DEFAULT_USER);
            // For the host: git compares paths up to a slash, so it would not send them for the spelling with `.git`. Each
            // process of git fetches from one address and follows no redirection.
            (
                format!("{}://{}/", address.scheme(), address.host()),
                format!("Authorization: Basic {}", STANDARD.encode(format!("{user}:{password}"))),
            )
        });
        Ok(Self { authorization, helper: entry.helper.clone(), key_file: entry.key_file.clone() })
    }

    /// Returns the settings of git that contain them.
    pub(super) fn configuration(&self) -> Vec<(String, String)> {
        let header = self
            .authorization
            .iter()
            .map(|(prefix, header)| (format!("http.{prefix}.extraHeader"), header.clone()));
        let helper = self.helper.iter().map(|helper| ("credential.helper".to_owned(), helper.clone()));
        header.chain(helper).collect()
    }

    /// Returns `true` if another program provides them.
    pub(super) fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// Returns the command that opens a connection of SSH. It never prompts, and accepts only hosts whose keys are known.
    pub(super) fn ssh_command(&self, stalled_s: u32) -> String {
        let mut command = format!(
            "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=30 -o ServerAliveInterval={} -o ServerAliveCountMax=1",
            stalled_s.max(1)
        );
        if let Some(key) = &self.key_file {
            // Within single quotes, only that character is special in the shell.
            let path = key.to_string_lossy().replace('\'', r"'\''");
            // Use no other key, whatever the user's configuration and agent contain.
            command
                .push_str(&format!(" -F /dev/null -o IdentitiesOnly=yes -o IdentityAgent=none -i '{path}'"));
        }
        command
    }
}

/// Returns the password that an entry refers to.
fn password(entry: &GitCredentials) -> Result<Option<String>, Fault> {
    let unusable = |what: String| {
        Fault::new(ErrorCode::CapabilityMissing, format!("The credentials for {} cannot be used.", entry.url))
            .with_hint(format!("Ask the operator to correct git.credentials: {what}."))
    };
    match (&entry.password_file, &entry.password_env) {
        (Some(file), _) => {
            let read = read_secret(file);
            read.map(Some)
                .map_err(|error| unusable(format!("password_file cannot be read ({})", error.kind())))
        }
        (None, Some(name)) => {
            let value = environment_variables().remove(name).filter(|value| !value.trim().is_empty());
            match value {
                Some(value) if !value.contains(char::is_control) => Ok(Some(value.trim().to_owned())),
                _ => Err(unusable(
                    "the variable of password_env is not set, or has a control character".to_owned(),
                )),
            }
        }
        (None, None) => Ok(None),
    }
}

/// Checks the section `git` of the settings.
///
/// # Errors
/// `INVALID_INPUT` for the first wrong value.
pub fn check_git_settings(settings: &config::Git) -> Result<(), Fault> {
    let invalid = |message: String, hint: &str| {
        Err(Fault::new(ErrorCode::InvalidInput, message).with_hint(hint.to_owned()))
    };
    let prefix = |text: &str| match RepositoryAddress::parse_prefix(text) {
        Some(Ok(_)) => None,
        Some(Err(why)) => Some(why),
        None => Some("It is not an address such as https://github.com.".to_owned()),
    };
    if let Some(host) = &settings.default_host
        && let Some(why) = prefix(host)
    {
        return invalid(
            format!("git.default_host: {why}"),
            "Give the address of the host, such as https://github.com.",
        );
    }
    for entry in &settings.credentials {
        if let Some(why) = prefix(&entry.url) {
            return invalid(
                format!("git.credentials: url: {why}"),
                "Give a host, or the beginning of addresses on it.",
            );
        }
        let passwords =
            usize::from(entry.password_file.is_some()) + usize::from(entry.password_env.is_some());
        if passwords + usize::from(entry.helper.is_some()) + usize::from(entry.key_file.is_some()) != 1 {
            return invalid(
                format!(
                    "git.credentials: the entry for {} needs exactly one of password_file, password_env, helper and key_file.",
                    entry.url
                ),
                "Keep one of them.",
            );
        }
        if entry.username.is_some() && passwords == 0 {
            return invalid(
                format!(
                    "git.credentials: the username for {} needs password_file or password_env.",
                    entry.url
                ),
                "Remove it, or name the password.",
            );
        }
        let is_ssh = entry.url.starts_with("ssh://") || !entry.url.contains("://");
        if is_ssh != entry.key_file.is_some() {
            let takes = if is_ssh { "key_file alone" } else { "no key_file" };
            return invalid(
                format!("git.credentials: {} takes {takes}.", entry.url),
                "Keys are for addresses with ssh://, passwords and helpers for those with https://.",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: Vec<GitCredentials>) -> config::Git {
        config::Git {
            program: "git".to_owned(),
            webhook_secret_file: None,
            default_host: None,
            credentials: entries,
            fetch_ms: 1000,
            probe_ms: 1000,
            stalled_s: 60,
            mirror_bytes_max: 1 << 30,
            mirrors_bytes_max: 1 << 30,
        }
    }

    fn entry(url: &str, file: Option<PathBuf>) -> GitCredentials {
        GitCredentials {
            url: url.to_owned(),
            username: None,
            password_file: file,
            password_env: None,
            helper: None,
            key_file: None,
        }
    }

    fn address(text: &str) -> RepositoryAddress {
        RepositoryAddress::parse(text).unwrap().unwrap()
    }

    #[test]
    fn the_most_specific_entry_counts_and_only_for_its_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("{name}-token\n")).unwrap();
            Some(path)
        };
        let settings = settings(vec![
            entry("https://github.com", file("all")),
            entry("https://github.com/acme", file("acme")),
        ]);
        let header = |url: &str| {
            let found = Credentials::for_address(&settings, &address(url)).unwrap().configuration();
            found.into_iter().next().map(|(name, value)| {
                let decoded = STANDARD.decode(value.strip_prefix("Authorization: Basic ").unwrap()).unwrap();
                (name, String::from_utf8(decoded).unwrap())
            })
        };
        assert_eq!(
            header("https://github.com/acme/shop"),
            Some(("http.https://github.com/.extraHeader".to_owned(), "git:acme-token".to_owned()))
        );
        assert_eq!(header("https://github.com/other/x").unwrap().1, "git:all-token");
        assert_eq!(header("https://github.com.evil.example/acme/shop"), None);
        assert_eq!(header("http://github.com/acme/shop"), None);
    }

    #[test]
    fn unusable_credentials_are_named_without_their_content() {
        let settings = settings(vec![entry("https://host", Some("/no/such/file".into()))]);
        let fault = Credentials::for_address(&settings, &address("https://host/x")).err().unwrap();
        assert_eq!(fault.code, ErrorCode::CapabilityMissing);
    }

    #[test]
    fn each_entry_has_one_kind_of_credentials() {
        assert!(check_git_settings(&settings(vec![entry("https://host", None)])).is_err());
        assert!(check_git_settings(&settings(vec![entry("host", Some("/x".into()))])).is_err());
        assert!(check_git_settings(&settings(vec![entry("https://host", Some("/x".into()))])).is_ok());
        let key = |url: &str| GitCredentials { key_file: Some("/k".into()), ..entry(url, None) };
        assert!(check_git_settings(&settings(vec![key("ssh://git@host")])).is_ok());
        assert!(check_git_settings(&settings(vec![key("https://host")])).is_err(), "it would not be used");
        assert!(check_git_settings(&settings(vec![entry("git@host:acme", Some("/x".into()))])).is_err());
        let named = GitCredentials { username: Some("a".into()), ..key("ssh://host") };
        assert!(check_git_settings(&settings(vec![named])).is_err());
        let both =
            GitCredentials { helper: Some("store".into()), ..entry("https://host", Some("/x".into())) };
        assert!(check_git_settings(&settings(vec![both])).is_err());
    }

    #[test]
    fn a_key_file_is_quoted_for_the_shell() {
        let credentials = Credentials { key_file: Some("/k'; rm -rf /".into()), ..Credentials::default() };
        assert!(credentials.ssh_command(60).ends_with(r"-i '/k'\''; rm -rf /'"));
    }
}
