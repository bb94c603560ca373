//! The sources of wheels, and the connections to them: the product's own setting, else pip's settings, else the index that the build names.

use std::path::PathBuf;
use std::time::Duration;

use netrc::Netrc;
use percent_encoding::percent_decode_str;

use super::faults;
use super::pip_settings::{Environment, PipSettings};
use contract::Fault;
use platform::outbound::{
    Connection, Credentials, Proxies, TrustedHost, Url, display_url, http_url, https_or_loopback_url,
};

/// Longest silence of a server unless pip's `timeout` is set. Mirrors that fetch a file on first demand answer late.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts after the first one unless pip's `retries` is set.
const RETRIES: u32 = 3;
/// Maximum number of attempts, even if the settings allow more.
const RETRIES_MAX: u32 = 10;

/// The index that the build names, for downloads without any setting. A build may set the variable to the empty string.
pub(super) const BUILT_IN_INDEX: Option<&str> = match option_env!("PAIROFCLEATS_PACKAGE_INDEX") {
    Some(index) if !index.is_empty() => Some(index),
    _ => None,
};

/// The sources of wheels, in the order in which they are tried, and the connection to them.
#[derive(Debug, Clone)]
pub(super) struct PackageSources {
    /// Folders of wheels.
    pub(super) folders: Vec<PathBuf>,
    /// Pages that list wheels.
    pub(super) pages: Vec<Url>,
    /// Package indexes.
    pub(super) indexes: Vec<Url>,
    /// `true` if pip is the last resort: no setting names the main index, but pip may know one.
    pub(super) asks_pip: bool,
    /// `true` if pip's settings forbid indexes.
    pub(super) no_index: bool,
    pub(super) connection: Connection,
    /// Attempts after the first one.
    pub(super) retries: u32,
}

impl PackageSources {
    /// Chooses the sources. `own` is the product's setting, which replaces pip's; `built_in` the index of the build; `netrc` the
    /// text of the user's netrc file.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if a setting is malformed, or names an address that others could read and change.
    pub(super) fn new(
        own: Option<&str>,
        built_in: Option<&str>,
        pip: &PipSettings,
        netrc: Option<&str>,
        environment: &Environment,
    ) -> Result<Self, Fault> {
        let trusted_hosts = pip.trusted_hosts.iter().filter_map(|text| trusted_host(text)).collect();
        let connection = Connection {
            ca_file: pip.cert.as_deref().map(|file| environment.expand_home(file)),
            client_cert_file: pip.client_cert.as_deref().map(|file| environment.expand_home(file)),
            proxies: proxies(pip.proxy.as_deref(), environment),
            trusted_hosts,
            credentials: Vec::new(),
            idle_timeout: pip
                .timeout
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(TIMEOUT),
        };
        let mut sources = Self {
            folders: Vec::new(),
            pages: Vec::new(),
            indexes: Vec::new(),
            asks_pip: false,
            no_index: false,
            connection,
            retries: pip.retries.unwrap_or(RETRIES).min(RETRIES_MAX),
        };
        match own.filter(|own| !own.trim().is_empty()) {
            Some(own) => sources.add_index("assets.package_index", own, true)?,
            None => sources.add_those_of_pip(pip, built_in, environment)?,
        }
        sources.connection.credentials.extend(netrc.map(netrc_credentials).unwrap_or_default());
        Ok(sources)
    }

    fn add_those_of_pip(
        &mut self,
        pip: &PipSettings,
        built_in: Option<&str>,
        environment: &Environment,
    ) -> Result<(), Fault> {
        for place in &pip.find_links {
            if place.starts_with("http://") || place.starts_with("https://") {
                let page = self.address("pip's find-links", place, false)?;
                self.pages.push(page);
            } else {
                let file_url = Url::parse(place).ok().filter(|url| url.scheme() == "file");
                let folder = file_url.and_then(|url| url.to_file_path().ok());
                self.folders.push(folder.unwrap_or_else(|| environment.expand_home(place)));
            }
        }
        self.no_index = pip.no_index;
        if pip.no_index {
            return Ok(());
        }
        match (&pip.index_url, built_in) {
            (Some(index), _) => self.add_index("pip's index-url", index, false)?,
            (None, Some(index)) => self.add_index("the index of this build", index, true)?,
            (None, None) => self.asks_pip = true,
        }
        pip.extra_index_urls
            .iter()
            .try_for_each(|index| self.add_index("pip's extra-index-url", index, false))
    }

    fn add_index(&mut self, setting: &str, text: &str, allows_http: bool) -> Result<(), Fault> {
        let mut url = self.address(setting, text, allows_http)?;
        // Project pages are below the index.
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        self.indexes.push(url);
        Ok(())
    }

    /// Parses an address and moves its user and password to the credentials, so that no error shows them and no other host
    /// gets them. Plain http is for hosts that the user trusts, as with pip.
    fn address(&mut self, setting: &str, text: &str, allows_http: bool) -> Result<Url, Fault> {
        // The error must not repeat the text, which may contain a password.
        let refused = |problem: String| {
            let message = format!("The address in {setting} cannot be used: {problem}.");
            faults::missing(message, format!("Correct {setting}."))
        };
        let mut url = http_url(text).map_err(|problem| refused(problem.to_string()))?;
        let is_trusted = allows_http || self.connection.trusted_hosts.iter().any(|host| host.has(&url));
        if !is_trusted && https_or_loopback_url(text).is_err() {
            let shown = display_url(&url);
            return Err(refused(format!("{shown} is neither https nor on a host of pip's trusted-host")));
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        if !url.username().is_empty() || url.password().is_some() {
            self.connection.credentials.push(Credentials {
                host: url.host_str().unwrap_or_default().to_owned(),
                scheme_and_port: Some((url.scheme().to_owned(), url.port_or_known_default())),
                user: decoded(url.username()),
                password: url.password().map(decoded),
            });
            // Only a URL without a host cannot have a user.
            let _ = (url.set_username(""), url.set_password(None));
        }
        url.set_fragment(None);
        Ok(url)
    }
}

/// Returns pip's own proxy for everything, else those of the usual environment variables.
fn proxies(own: Option<&str>, environment: &Environment) -> Proxies {
    if let Some(own) = own {
        return Proxies { http: Some(own.to_owned()), https: Some(own.to_owned()), excepted_hosts: None };
    }
    let variable = |name: &str| {
        let set = environment.get(name).or_else(|| environment.get(&name.to_ascii_uppercase()));
        set.map(str::to_owned)
    };
    let all = || variable("all_proxy");
    Proxies {
        http: variable("http_proxy").or_else(all),
        https: variable("https_proxy").or_else(all),
        excepted_hosts: variable("no_proxy"),
    }
}

/// Parses `host`, `host:port` or `[address]:port`.
fn trusted_host(text: &str) -> Option<TrustedHost> {
    let url = Url::parse(&format!("http://{text}")).ok()?;
    let port = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let is_address = text.ends_with(']');
    Some(TrustedHost { host: url.host_str()?.to_owned(), port: port.filter(|_| !is_address) })
}

/// Returns the credentials of a netrc file. The entry `default` is omitted: it would be sent to every host. A malformed file counts as
/// empty, as for pip.
fn netrc_credentials(text: &str) -> Vec<Credentials> {
    let Ok(netrc) = text.parse::<Netrc>() else { return Vec::new() };
    let machines = netrc.hosts.into_iter().filter(|(host, _)| host != "default");
    let credentials = machines.map(|(host, machine)| Credentials {
        host: host.to_ascii_lowercase(),
        scheme_and_port: None,
        user: machine.login,
        password: Some(machine.password),
    });
    credentials.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(
        own: Option<&str>,
        built_in: Option<&str>,
        pip: &PipSettings,
    ) -> Result<PackageSources, Fault> {
        PackageSources::new(own, built_in, pip, None, &Environment::of(&[("HOME", "/h")]))
    }

    fn pip(index_url: &str) -> PipSettings {
        PipSettings { index_url: Some(index_url.to_owned()), ..PipSettings::default() }
    }

    #[test]
    fn the_own_setting_counts_more_than_pip_and_pip_more_than_the_build() {
        let named = pip("https://pip.example/simple");
        let index =
            |own, built_in, pip: &PipSettings| sources(own, built_in, pip).unwrap().indexes[0].to_string();
        assert_eq!(
            index(Some("http://own.example"), Some("https://b.example"), &named),
            "http://own.example/"
        );
        assert_eq!(index(None, Some("https://b.example/x"), &named), "https://pip.example/simple/");
        assert_eq!(index(None, Some("https://b.example/x"), &PipSettings::default()), "https://b.example/x/");
        assert!(!sources(None, None, &named).unwrap().asks_pip);
        let nothing = sources(Some(""), None, &PipSettings::default()).unwrap();
        assert!(nothing.asks_pip && nothing.indexes.is_empty() && nothing.folders.is_empty());
        let forbidden =
            PipSettings { no_index: true, find_links: vec!["~/w".into(), "file:///x".into()], ..named };
        let forbidden = sources(None, Some("https://b.example"), &forbidden).unwrap();
        assert!(!forbidden.asks_pip && forbidden.indexes.is_empty());
        assert_eq!(forbidden.folders, [PathBuf::from("/h/w"), PathBuf::from("/x")]);
    }

    #[test]
    fn the_proxy_of_pip_counts_more_than_the_environment() {
        let usual =
            Environment::of(&[("HTTPS_PROXY", "http://p:1"), ("all_proxy", "q:2"), ("NO_PROXY", "a,b")]);
        let found = proxies(None, &usual);
        assert_eq!((found.http.as_deref(), found.https.as_deref()), (Some("q:2"), Some("http://p:1")));
        assert_eq!(found.excepted_hosts.as_deref(), Some("a,b"));
        let own = proxies(Some("me:s3cret@r:3"), &usual);
        assert_eq!((own.http.as_deref(), own.excepted_hosts.as_deref()), (Some("me:s3cret@r:3"), None));
        assert!(!format!("{own:?}").contains("s3cret"));
        assert_eq!(proxies(None, &Environment::default()), Proxies::default());
    }

    #[test]
    fn plain_http_needs_a_trusted_host() {
        let fault = sources(None, None, &pip("http://me:s3cret@pip.example/simple")).unwrap_err();
        assert!(
            fault.message.contains("trusted-host") && !fault.message.contains("s3cret"),
            "{}",
            fault.message
        );
        for trusted in ["pip.example", "PIP.example:80"] {
            let pip = PipSettings { trusted_hosts: vec![trusted.into()], ..pip("http://pip.example/simple") };
            assert!(sources(None, None, &pip).is_ok(), "{trusted}");
        }
        for trusted in ["other.example", "pip.example:8080", "example"] {
            let pip = PipSettings { trusted_hosts: vec![trusted.into()], ..pip("http://pip.example/simple") };
            assert!(sources(None, None, &pip).is_err(), "{trusted}");
        }
        for malformed in ["s3cret", "ftp://me:s3cret@x/", "file:///s3cret", "https://me:s3cret@:x/"] {
            let fault = sources(None, None, &pip(malformed)).unwrap_err();
            assert!(!format!("{fault:?}").contains("s3cret"), "{fault:?}");
        }
    }

    #[test]
    fn credentials_move_from_the_url_and_come_from_netrc() {
        let netrc = "machine other.example login you password pw2\ndefault login any password pw3\n";
        let own = Some("https://me:p%40ss@own.example:8443/simple");
        let sources =
            PackageSources::new(own, None, &PipSettings::default(), Some(netrc), &Environment::default())
                .unwrap();
        assert_eq!(sources.indexes[0].as_str(), "https://own.example:8443/simple/");
        let found: Vec<_> = sources.connection.credentials.iter().collect();
        assert_eq!(found.len(), 2, "not the default entry");
        assert_eq!((&*found[0].user, found[0].password.as_deref()), ("me", Some("p@ss")));
        assert_eq!(found[0].scheme_and_port, Some(("https".to_owned(), Some(8443))));
        assert_eq!((&*found[1].host, &*found[1].user), ("other.example", "you"));
        assert!(!format!("{sources:?}").contains("p@ss") && !format!("{sources:?}").contains("pw2"));
    }
}
