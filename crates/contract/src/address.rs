//! Addresses of git repositories, in one spelling each.

use std::fmt;

/// The address of a git repository: `https://host/owner/name`, `http://…`, `ssh://user@host/path` or `file:///path`; or of a folder
/// in it, after two slashes: `https://host/owner/name//services/shop`.
///
/// One repository has one spelling: the host is in lower case, the default port, a final `/` and a final `.git` are left out,
/// and `user@host:path` is written as `ssh://user@host/path`. An address contains no password, query or fragment, and its path
/// no `..`, so a prefix of it is the address of something that contains it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryAddress(String);

/// Protocols by which a repository is fetched, with their default ports.
const SCHEMES: [(&str, &str); 4] = [("https", "443"), ("http", "80"), ("ssh", "22"), ("file", "")];

/// Separates the path of a repository from that of a folder in it.
const FOLDER_MARK: &str = "//";

/// Maximum length of an address in bytes: it is stored in indexes.
const ADDRESS_BYTES_MAX: usize = 2000;

impl RepositoryAddress {
    /// Reads an address. `None` if the text does not look like one, but like a path or a name.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    #[must_use]
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        Self::parse_prefix(text).map(|parsed| {
            let address = parsed?;
            match address.path() {
                "" | "/" => Err("The address names a host, but no repository.".to_owned()),
                _ => Ok(address),
            }
        })
    }

    /// Like [`Self::parse`], for the beginning of addresses, which may also be a host, such as `https://github.com`.
    ///
    /// # Errors
    /// See [`Self::parse`].
    #[must_use]
    pub fn parse_prefix(text: &str) -> Option<Result<Self, String>> {
        if let Some((scheme, rest)) = text.split_once("://") {
            return Some(canonical(scheme, rest));
        }
        let (host, path) = text.split_once(':')?;
        // As git reads it: a colon before the first slash separates a host from a path.
        let is_scp_like = host.contains('@') && !host.contains('/') && !path.is_empty();
        is_scp_like.then(|| canonical("ssh", &format!("{host}/{}", path.trim_start_matches('/'))))
    }

    /// Returns the address as text, the form in which it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the protocol: https, http, ssh or file.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.0.split_once("://").map_or("", |(scheme, _)| scheme)
    }

    /// Returns the host with the port, unless the port is the default one; empty for a file.
    #[must_use]
    pub fn host(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split_once('/').map_or(rest, |(authority, _)| authority);
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    }

    /// Returns the path with the leading `/`; empty for a host alone.
    #[must_use]
    pub fn path(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').map_or("", |slash| &rest[slash..])
    }

    /// Returns the address of the whole repository.
    #[must_use]
    pub fn repository(&self) -> Self {
        let path = self.path();
        let folder_bytes = path.find(FOLDER_MARK).map_or(0, |mark| path.len() - mark);
        Self(self.0[..self.0.len() - folder_bytes].to_owned())
    }

    /// Returns the path of the folder in the repository, without slashes at the ends; empty for the whole repository.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.path().split_once(FOLDER_MARK).map_or("", |(_, folder)| folder)
    }

    /// Returns the directory that the address of a file names.
    #[must_use]
    pub fn local_directory(&self) -> Option<&str> {
        let path = self.path();
        (self.scheme() == "file")
            .then(|| path.split_once(FOLDER_MARK).map_or(path, |(directory, _)| directory))
    }

    /// Returns the last part of the path, which names the repository in answers.
    #[must_use]
    pub fn name(&self) -> &str {
        let path = self.path();
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        name.strip_suffix(".git").unwrap_or(name)
    }

    /// Checks whether this is the address `prefix`, or one of a repository below it.
    #[must_use]
    pub fn is_within(&self, prefix: &Self) -> bool {
        self.0.strip_prefix(&prefix.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Converts an address to its canonical form.
fn canonical(scheme: &str, rest: &str) -> Result<RepositoryAddress, String> {
    let scheme = scheme.to_ascii_lowercase();
    let Some((_, default_port)) = SCHEMES.iter().find(|(known, _)| *known == scheme) else {
        return Err("Repositories are fetched by https, ssh, http or file.".to_owned());
    };
    if rest.chars().any(|letter| letter.is_control() || letter.is_whitespace() || letter == '\\') {
        return Err("The address contains a space, a backslash or a control character.".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err("The address has a query or a fragment.".to_owned());
    }
    if has_hidden_parts(rest, &scheme) {
        return Err("The path of the address has `;` or an encoded character other than %20.".to_owned());
    }
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let authority = match scheme.as_str() {
        "file" if authority.is_empty() || authority == "localhost" => String::new(),
        "file" => return Err("The address of a file names a host; write file:///path.".to_owned()),
        _ => canonical_authority(authority, &scheme, default_port)?,
    };
    let path = path.trim_end_matches('/');
    let (path, folder) = path.split_once(FOLDER_MARK).unwrap_or((path, ""));
    // A directory is named as it is; hosts serve a repository with and without the ending.
    let path = if scheme == "file" { path } else { path.strip_suffix(".git").unwrap_or(path) };
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let has_plain_parts = |path: &str| path.is_empty() || path.split('/').all(is_plain);
    if !has_plain_parts(path.strip_prefix('/').unwrap_or(path)) || !has_plain_parts(folder) {
        return Err("The path of the address has an empty part, `.` or `..`.".to_owned());
    }
    if path.is_empty() && !folder.is_empty() {
        return Err("The address names a folder, but no repository.".to_owned());
    }
    let mark = if folder.is_empty() { "" } else { FOLDER_MARK };
    let address = format!("{scheme}://{authority}{path}{mark}{folder}");
    if address.len() > ADDRESS_BYTES_MAX {
        return Err(format!("The address is longer than {ADDRESS_BYTES_MAX} bytes."));
    }
    Ok(RepositoryAddress(address))
}

/// Checks whether a host may read a path as another one, because of encoded dots and slashes, or `..;` on some servers. The only encoded
/// character that is accepted is the space.
fn has_hidden_parts(rest: &str, scheme: &str) -> bool {
    let may_encode = matches!(scheme, "http" | "https");
    let plain = if may_encode { rest.replace("%20", "") } else { rest.to_owned() };
    plain.contains(['%', ';'])
}

/// Converts the user, host and port of an address.
fn canonical_authority(authority: &str, scheme: &str, default_port: &str) -> Result<String, String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    match user {
        Some(_) if scheme != "ssh" => {
            return Err(
                "The address contains credentials, which would be stored and shown; configure them in git.credentials."
                    .to_owned(),
            );
        }
        Some(user) if !is_name(user) => {
            return Err("The user of the address is not a plain name; passwords are not accepted.".to_owned());
        }
        _ => {}
    }
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_ip6 = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
    };
    if !(is_name(host) || is_ip6(host)) {
        return Err("The host of the address is not a host name.".to_owned());
    }
    let port = match port {
        Some(port) if port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port) => {
            Some(port).filter(|port| *port != default_port)
        }
        Some(_) => return Err("The port of the address is not a number from 1 to 65535.".to_owned()),
        None => None,
    };
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Ok(format!("{user}{}{port}", host.to_ascii_lowercase()))
}

/// Checks whether a text is a plain name, which programs cannot mistake for an option.
fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> String {
        RepositoryAddress::parse(text).unwrap().unwrap().as_str().to_owned()
    }

    #[test]
    fn a_repository_has_one_spelling() {
        let click = "https://github.com/pallets/click";
        for text in [
            "https://github.com/pallets/click",
            "https://github.com/pallets/click.git",
            "HTTPS://GitHub.com:443/pallets/click/",
        ] {
            assert_eq!(address(text), click, "{text}");
        }
        assert_eq!(address("git@github.com:pallets/click.git"), "ssh://git@github.com/pallets/click");
        assert_eq!(address("ssh://git@host:2222/srv/x.git"), "ssh://git@host:2222/srv/x");
        assert_eq!(address("file:///srv/git/x.git"), "file:///srv/git/x.git");
        assert_eq!(address("http://[::1]:8080/x"), "http://[::1]:8080/x");
        assert_eq!(address("https://host/a%20b/_git/c"), "https://host/a%20b/_git/c");
    }

    #[test]
    fn a_folder_of_a_repository_has_an_address() {
        let parts = |text: &str| {
            let address = RepositoryAddress::parse(text).unwrap().unwrap();
            let (repository, folder) =
                (address.repository().as_str().to_owned(), address.folder().to_owned());
            (repository, folder, address.name().to_owned())
        };
        let shop = |folder: &str, name: &str| {
            ("https://host/acme/shop".to_owned(), folder.to_owned(), name.to_owned())
        };
        assert_eq!(parts("https://host/acme/shop.git//services/till/"), shop("services/till", "till"));
        assert_eq!(parts("https://host/acme/shop"), shop("", "shop"));
        assert_eq!(
            address("https://host/acme/shop.git//services/till/"),
            "https://host/acme/shop//services/till"
        );
        let local = RepositoryAddress::parse("file:///srv/x.git//a").unwrap().unwrap();
        assert_eq!((local.local_directory(), local.folder()), (Some("/srv/x.git"), "a"));
        let acme = RepositoryAddress::parse_prefix("https://host/acme/shop").unwrap().unwrap();
        assert!(
            RepositoryAddress::parse("https://host/acme/shop//services").unwrap().unwrap().is_within(&acme)
        );
    }

    #[test]
    fn paths_and_names_are_not_addresses() {
        for text in ["/srv/x", "click", "./a:b", "src/main.rs:12", "C:\\x", "owner/name", "module:name"] {
            assert_eq!(RepositoryAddress::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dangerous_addresses_are_refused() {
        for text in [
            "ext::sh -c id://x",
            "git://github.com/a/b",
            "https://user:secret@host/x",
            "https://token@host/x",
            "ssh://-oProxyCommand=id/x",
            "ssh://a:b@host/x",
            "-x@host:y",
            "https://host/a/../b",
            "https://host//b",
            "https://host/a//b//c",
            "https://host/a//../b",
            "https://host/a?x=1",
            "https://host/a#b",
            "https://ho st/a",
            "https://host:99999/a",
            "https://host:080/a",
            "https:///a",
            "https://host",
            "https://host/",
            "https://host/a\n",
            "https://host/a/%2e%2e/b",
            "https://host/a/..%2fb",
            "https://host/a/..;/b",
            "https://host/%61",
            "ssh://git@host/a/%2e%2e/b",
            "ssh://git@host/a%20b",
            "file:///srv/%2e%2e/b",
            "https://evil.example\\@github.com/a",
            "file://other/srv/x",
            "file:///",
        ] {
            assert!(RepositoryAddress::parse(text).is_none_or(|parsed| parsed.is_err()), "{text}");
        }
        let long = format!("https://host/{}", "x".repeat(2000));
        assert!(RepositoryAddress::parse(&long).unwrap().is_err());
    }

    #[test]
    fn a_prefix_ends_at_a_slash() {
        let prefix = |text: &str| RepositoryAddress::parse_prefix(text).unwrap().unwrap();
        let click = RepositoryAddress::parse("https://github.com/pallets/click").unwrap().unwrap();
        for text in
            ["https://github.com", "https://github.com/pallets/", "https://github.com/pallets/click.git"]
        {
            assert!(click.is_within(&prefix(text)), "{text}");
        }
        for text in
            ["https://github.co", "https://github.com/pal", "http://github.com", "https://github.com:8443"]
        {
            assert!(!click.is_within(&prefix(text)), "{text}");
        }
        assert_eq!((click.host(), click.path(), click.name()), ("github.com", "/pallets/click", "click"));
    }
}
