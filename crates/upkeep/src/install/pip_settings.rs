//! pip's own settings: environment variables `PIP_*` and pip.conf files, read in pip's order.
//!
//! Users of a package mirror have configured pip already, so runtime files come from there without further settings. Pure except for
//! [`Environment::of_process`], and [`read_configuration_files`], which reads the files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use configparser::ini::Ini;

use super::faults;
use contract::Fault;
use contract::config::environment_variables;

/// Largest configuration file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Sections that are read, the last one with the highest precedence: pip reads those of the running command, here `pip download`; `install`
/// often holds the index, too.
const SECTIONS: [&str; 3] = ["download", "install", "global"];

/// Environment variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Returns the variables of this process.
    pub(super) fn of_process() -> Self {
        Self(environment_variables())
    }

    #[cfg(test)]
    pub(super) fn of(variables: &[(&str, &str)]) -> Self {
        Self(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// Returns a variable that is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// Replaces a leading `~` by the home directory.
    pub(super) fn expand_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix('~'), self.home()) {
            (Some(""), Some(home)) => home,
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => PathBuf::from(path),
        }
    }

    /// Replaces each `${NAME}` of a variable that is set; names consist of capitals, digits and underscores.
    fn expand_references(&self, text: &str) -> String {
        let (mut expanded, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let is_name =
                |name: &&str| name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
            let reference = after.split_once('}').filter(|(name, _)| is_name(name));
            match reference.and_then(|(name, after)| Some((self.0.get(name)?, after))) {
                Some((value, after)) => {
                    expanded.push_str(value);
                    rest = after;
                }
                None => {
                    expanded.push_str("${");
                    rest = after;
                }
            }
        }
        expanded + rest
    }
}

/// Returns the configuration files that pip reads, the last one with the highest precedence. Their existence is not checked, except for the
/// file of `PIP_CONFIG_FILE`, which replaces the user's files if it exists.
pub(super) fn configuration_files(environment: &Environment) -> Vec<PathBuf> {
    let own = environment.get("PIP_CONFIG_FILE").map(|file| environment.expand_home(file));
    if own.as_deref() == Some(Path::new("/dev/null")) {
        return Vec::new();
    }
    let is_macos = cfg!(target_os = "macos");
    let mut files = Vec::new();
    if is_macos {
        files.push(PathBuf::from("/Library/Application Support/pip/pip.conf"));
    } else {
        let folders = environment.get("XDG_CONFIG_DIRS").unwrap_or("/etc/xdg");
        files.extend(folders.split(':').map(|folder| environment.expand_home(folder).join("pip/pip.conf")));
        files.push(PathBuf::from("/etc/pip.conf"));
    }
    if let Some(home) = environment.home().filter(|_| !own.as_deref().is_some_and(Path::exists)) {
        let configuration = environment.get("XDG_CONFIG_HOME").map(PathBuf::from);
        let mac = home.join("Library/Application Support/pip");
        files.push(home.join(".pip/pip.conf"));
        files.push(match configuration {
            _ if is_macos && mac.is_dir() => mac.join("pip.conf"),
            Some(folder) => folder.join("pip/pip.conf"),
            None => home.join(".config/pip/pip.conf"),
        });
    }
    files.extend(environment.get("VIRTUAL_ENV").map(|folder| Path::new(folder).join("pip.conf")));
    files.extend(own);
    files
}

/// Reads the files that exist and that this user may read, as pip does.
pub(super) fn read_configuration_files(environment: &Environment) -> Vec<(PathBuf, String)> {
    let read = |path: PathBuf| {
        let mut text = String::new();
        File::open(&path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some((path, text))
    };
    configuration_files(environment).into_iter().filter_map(read).collect()
}

/// The settings for the origin of packages and the connection. Texts are as the user wrote them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PipSettings {
    pub(super) index_url: Option<String>,
    pub(super) extra_index_urls: Vec<String>,
    pub(super) find_links: Vec<String>,
    pub(super) no_index: bool,
    pub(super) trusted_hosts: Vec<String>,
    pub(super) cert: Option<String>,
    pub(super) client_cert: Option<String>,
    pub(super) proxy: Option<String>,
    /// Seconds without an answer.
    pub(super) timeout: Option<f64>,
    pub(super) retries: Option<u32>,
}

impl PipSettings {
    /// Parses the settings. An environment variable takes precedence over a file, and a later file over an earlier one.
    ///
    /// # Errors
    /// `CAPABILITY_MISSING` if a file is malformed; pip refuses it as well.
    pub(super) fn parse(environment: &Environment, files: &[(PathBuf, String)]) -> Result<Self, Fault> {
        let mut configured = BTreeMap::new();
        for (path, text) in files {
            let sections = ini().read(text.clone()).map_err(|_| {
                let hint = format!(
                    "Correct {}; `python3 -m pip config debug` shows what pip reads.",
                    path.display()
                );
                faults::missing(
                    "A configuration file of pip is malformed.",
                    "Correct pip's configuration file.",
                )
                .with_local_hint(hint)
            })?;
            for (section, options) in sections {
                for (name, value) in options {
                    // A later file hides the value of an earlier one even with an empty value.
                    let name = name.trim_start_matches("--").replace('_', "-");
                    configured.insert((section.clone(), name), value.unwrap_or_default());
                }
            }
        }
        let option = |name: &str| -> Option<String> {
            let variable = format!("PIP_{}", name.replace('-', "_").to_ascii_uppercase());
            let in_section = |section: &&str| configured.get(&((*section).to_owned(), name.to_owned()));
            let in_files = || {
                let found = SECTIONS.iter().filter_map(in_section).find(|value| !value.is_empty())?;
                Some(environment.expand_references(found.trim()))
            };
            environment.get(&variable).map(|value| value.trim().to_owned()).or_else(in_files)
        };
        let list = |name: &str| -> Vec<String> {
            option(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let is_set = |name: &str| {
            let value = option(name).unwrap_or_default().to_ascii_lowercase();
            ["y", "yes", "t", "true", "on", "1"].contains(&value.as_str())
        };
        Ok(Self {
            index_url: option("index-url"),
            extra_index_urls: list("extra-index-url"),
            find_links: list("find-links"),
            no_index: is_set("no-index"),
            trusted_hosts: list("trusted-host"),
            // The HTTP library below pip reads the last two.
            cert: option("cert")
                .or_else(|| environment.get("REQUESTS_CA_BUNDLE").map(str::to_owned))
                .or_else(|| environment.get("CURL_CA_BUNDLE").map(str::to_owned)),
            client_cert: option("client-cert"),
            proxy: option("proxy"),
            timeout: option("timeout")
                .or_else(|| option("default-timeout"))
                .and_then(|value| value.parse().ok())
                .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0),
            retries: option("retries").and_then(|value| value.parse().ok()),
        })
    }
}

/// Creates a parser that behaves like Python's: values may continue on indented lines, and only whole lines are comments.
fn ini() -> Ini {
    let mut ini = Ini::new();
    ini.set_multiline(true);
    ini.set_comment_symbols(&['#', ';']);
    ini.set_inline_comment_symbols(Some(&[]));
    ini
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&str, &str)], files: &[&str]) -> PipSettings {
        let files: Vec<_> =
            files.iter().map(|text| (PathBuf::from("pip.conf"), (*text).to_owned())).collect();
        PipSettings::parse(&Environment::of(variables), &files).unwrap()
    }

    #[test]
    fn later_files_hide_earlier_ones_and_the_environment_hides_both() {
        let machine = "[global]\nindex-url = https://machine.example/simple\ntimeout: 60\n";
        let user = "# mine\n[global]\nindex_url = https://user.example/simple#x ; y\n\
                    [download]\nno-index = no\nretries = 0\n";
        assert_eq!(parse(&[], &[machine]).index_url.unwrap(), "https://machine.example/simple");
        let both = parse(&[], &[machine, user]);
        assert_eq!(both.index_url.unwrap(), "https://user.example/simple#x ; y", "no comments within lines");
        assert_eq!((both.timeout, both.retries, both.no_index), (Some(60.0), Some(0), false));
        let set = [
            ("PIP_INDEX_URL", "https://env.example/"),
            ("PIP_NO_INDEX", "1"),
            ("PIP_DEFAULT_TIMEOUT", "2.5"),
        ];
        let all = parse(&set, &[machine, user]);
        assert_eq!(all.index_url.unwrap(), "https://env.example/");
        assert!(all.no_index);
        assert_eq!(parse(&set, &[]).timeout, Some(2.5));
        // An empty value in a file hides earlier ones, but an empty variable does not.
        let emptied = parse(&[("PIP_INDEX_URL", "")], &[machine, "[global]\nindex-url =\n"]);
        assert_eq!(emptied.index_url, None);
        assert_eq!(
            parse(&[("PIP_INDEX_URL", "")], &[machine]).index_url.unwrap(),
            "https://machine.example/simple"
        );
    }

    #[test]
    fn the_section_of_the_command_counts_more_than_global() {
        let file = "[install]\nindex-url = https://install.example/\ncert = /i.pem\n\
                    [global]\nindex-url = https://global.example/\ncert = /g.pem\nproxy = p:1\n\
                    [download]\nindex-url = https://download.example/\n[freeze]\nclient-cert = /f.pem\n";
        let settings = parse(&[], &[file]);
        assert_eq!(settings.index_url.unwrap(), "https://download.example/");
        assert_eq!(
            (settings.cert.unwrap(), settings.proxy.unwrap()),
            ("/i.pem".to_owned(), "p:1".to_owned())
        );
        assert_eq!(settings.client_cert, None);
    }

    #[test]
    fn lists_span_lines_and_references_are_replaced() {
        let file = "[global]\nextra-index-url =\n    https://${USER_NAME}:${TOKEN_1}@a.example/simple\n    https://b.example/${unset}/${MISSING}\n\
                    find-links = /wheels ./more\ntrusted-host = a.example\n\tb.example:8080\n";
        let settings = parse(&[("USER_NAME", "me"), ("TOKEN_1", "s3cret")], &[file]);
        assert_eq!(
            settings.extra_index_urls,
            ["https://me:s3cret@a.example/simple", "https://b.example/${unset}/${MISSING}"]
        );
        assert_eq!(settings.find_links, ["/wheels", "./more"]);
        assert_eq!(settings.trusted_hosts, ["a.example", "b.example:8080"]);
    }

    #[test]
    fn malformed_files_are_refused_by_name_to_local_callers_only() {
        let files = [(PathBuf::from("/etc/pip.conf"), "[global\n".to_owned())];
        let fault = PipSettings::parse(&Environment::default(), &files).unwrap_err();
        assert!(fault.local_hint.unwrap().contains("/etc/pip.conf") && !fault.hint.unwrap().contains("/etc"));
        for text in ["", "stray\n", "\u{feff}[global]\n", "[global]\n  = x\n", "[a]\nb\n  c\n"] {
            let files = [(PathBuf::from("x"), text.to_owned())];
            let _ = PipSettings::parse(&Environment::default(), &files);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_are_read_in_the_order_of_pip() {
        let names = |variables: &[(&str, &str)]| {
            let files = configuration_files(&Environment::of(variables));
            files.into_iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let global = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"];
        assert_eq!(names(&[]), global);
        assert_eq!(
            names(&[("HOME", "/h"), ("VIRTUAL_ENV", "/v")])[2..],
            ["/h/.pip/pip.conf", "/h/.config/pip/pip.conf", "/v/pip.conf"]
        );
        assert_eq!(names(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")])[3], "/c/pip/pip.conf");
        assert_eq!(names(&[("HOME", "/h"), ("PIP_CONFIG_FILE", "/no/such")]).len(), 5);
        let existing = tempfile::NamedTempFile::new().unwrap();
        let own = existing.path().to_str().unwrap();
        assert_eq!(names(&[("HOME", "/h"), ("PIP_CONFIG_FILE", own)])[2..], [own], "instead of the user's");
        assert!(names(&[("HOME", "/h"), ("PIP_CONFIG_FILE", "/dev/null")]).is_empty());
        assert_eq!(Environment::of(&[("HOME", "/h")]).expand_home("~/x"), Path::new("/h/x"));
    }
}
