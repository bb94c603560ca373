//! Shows paths as links that a terminal opens on a click: the escape sequence OSC 8.
//!
//! A terminal that does not support the sequence may print it into the text, so links are enabled only on terminals known to support it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use percent_encoding::utf8_percent_encode;
use serde_json::Value;

use crate::uri_encoding::{PATH, UNRESERVED};
use contract::{Envelope, ErrorCode, Fault, ProjectId, unescaped};
use gate::app::App;
use store::{Access, ProjectTx, repositories};

/// The variables that a format may contain in braces.
const VARIABLES: [&str; 4] = ["{host}", "{path}", "{line}", "{column}"];

/// Starts a link; the address and the text of the link follow, and an empty address ends it.
const BEGIN: &str = "\u{1b}]8;;";
const END: &str = "\u{1b}\\";

/// Terminals that are recognised by `TERM_PROGRAM`.
const PROGRAMS: &[&str] = &["Hyper", "WezTerm", "ghostty", "iTerm.app", "terminology", "vscode", "zed"];
/// Terminals that are recognised by `TERM`.
const TERMS: &[&str] = &["alacritty", "alacritty-direct", "foot", "xterm-ghostty", "xterm-kitty"];
/// Terminals that are recognised by a variable that only they set.
const VARIABLES_OF_TERMINALS: &[&str] = &["DOMTERM", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "WT_SESSION"];
/// Version 0.50.0 of the library of GNOME Terminal and others, the first with links, crashes on them.
const VTE_BROKEN: u32 = 5000;

/// Returns `true` if stdout is a terminal that is known to support links. `FORCE_HYPERLINK` decides if it is set: `0` means no.
pub(super) fn has_hyperlinks(is_terminal: bool, environment: &BTreeMap<String, String>) -> bool {
    let value = |name: &str| environment.get(name).map(String::as_str).unwrap_or_default();
    if let Some(forced) = environment.get("FORCE_HYPERLINK") {
        return forced.trim() != "0";
    }
    // Multiplexers inherit the variables of the terminal around them, and old versions do not pass links on.
    let is_multiplexed = ["TMUX", "STY", "ZELLIJ"].iter().any(|name| environment.contains_key(*name));
    if !is_terminal || is_multiplexed || value("TERM") == "dumb" {
        return false;
    }
    VARIABLES_OF_TERMINALS.iter().any(|name| environment.contains_key(*name))
        || value("VTE_VERSION").parse::<u32>().is_ok_and(|version| version > VTE_BROKEN)
        || PROGRAMS.contains(&value("TERM_PROGRAM"))
        || TERMS.contains(&value("TERM"))
        || value("COLORTERM") == "xfce4-terminal"
}

/// The setting `terminal.link_format`: an address that contains variables.
#[derive(Debug, Clone)]
pub(super) struct LinkFormat(String);

impl LinkFormat {
    /// # Errors `INVALID_INPUT` with the violated rule.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let invalid = |why: &str| {
            Fault::new(ErrorCode::InvalidInput, format!("The setting `terminal.link_format` {why}."))
                .with_hint("Write it as file://{host}{path} or vscode://file{path}:{line}:{column}.")
        };
        let has_scheme = text.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|char: char| char.is_ascii_alphabetic())
                && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
        });
        if !has_scheme || !text.chars().all(|char| char.is_ascii_graphic()) {
            return Err(invalid("is not an address"));
        }
        if !text.contains("{path}") {
            return Err(invalid("does not contain {path}"));
        }
        let others = VARIABLES.iter().fold(text.to_owned(), |rest, name| rest.replace(name, ""));
        if others.contains(['{', '}']) {
            return Err(invalid("has a variable other than {host}, {path}, {line} and {column}"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the address of a place. A place without a line is the first line.
    fn address(&self, host: &str, path: &str, line: Option<u64>, column: Option<u64>) -> String {
        let number = |number: Option<u64>| number.unwrap_or(1).to_string();
        // The path is inserted last, so that no part of it is taken for a variable; its braces are encoded anyway.
        self.0
            .replace("{line}", &number(line))
            .replace("{column}", &number(column))
            .replace("{host}", &utf8_percent_encode(host, UNRESERVED).to_string())
            .replace("{path}", &utf8_percent_encode(path, PATH).to_string())
    }
}

/// A place in a file, as an answer names it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkedPlace<'a> {
    /// The repository; absent if the answer concerns only one.
    pub(super) repository: Option<&'a str>,
    /// The path in the repository.
    pub(super) file: &'a str,
    /// The line, 1-based.
    pub(super) line: Option<u64>,
    /// The column in characters, 1-based.
    pub(super) column: Option<u64>,
}

/// The data that links of an answer need: the locations of its repositories.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The format of addresses; `None` if paths are not links.
    format: Option<LinkFormat>,
    host: String,
    /// The folders of repositories, by name.
    roots: HashMap<String, String>,
    /// The repository of places that do not name one.
    only: Option<String>,
}

impl Links {
    /// Returns the links of an answer; empty without a format, or if the folders cannot be read.
    pub(super) async fn new(app: &App, format: Option<&LinkFormat>, envelope: &Envelope) -> Self {
        let Some(format) = format else { return Self::default() };
        let roots = match roots(app, envelope).await {
            Ok(roots) => roots,
            Err(fault) => {
                tracing::debug!("paths are not links: {}", fault.message);
                return Self::default();
            }
        };
        let scope = envelope.meta.scope.as_ref().map(|scope| scope.repositories.as_slice());
        let only = match (scope, roots.keys().next()) {
            (Some([name]), _) if roots.contains_key(name) => Some(name.clone()),
            (_, Some(name)) if roots.len() == 1 => Some(name.clone()),
            _ => None,
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { format: Some(format.clone()), host, roots, only }
    }

    /// Returns the text as a link to the place, or unchanged if the place has no file on this machine.
    pub(super) fn link(&self, place: &LinkedPlace<'_>, text: String) -> String {
        match self.address(place) {
            Some(address) => linked(&address, &text),
            None => text,
        }
    }

    fn address(&self, place: &LinkedPlace<'_>) -> Option<String> {
        let root = self.roots.get(place.repository.or(self.only.as_deref())?)?;
        let file = unescaped(place.file).unwrap_or_else(|| place.file.to_owned());
        let path = format!("{}/{file}", root.trim_end_matches('/'));
        Some(self.format.as_ref()?.address(&self.host, &path, place.line, place.column))
    }
}

/// Returns the folders of the repositories of the project that an answer concerns. Records and portable files have none.
async fn roots(app: &App, envelope: &Envelope) -> Result<HashMap<String, String>, Fault> {
    let id = match &envelope.meta.project_id {
        None => return Ok(HashMap::new()),
        Some(Value::String(id)) => ProjectId::parse(id)?,
        Some(_) => ProjectId::default_workspace(),
    };
    let store = app.store().await?;
    let project = tenancy::require(store, &id).await?;
    let mut tx = ProjectTx::begin(store, &project, Access::Search).await?;
    let rows = repositories::list(&mut tx).await?;
    tx.commit().await?;
    Ok(rows.into_iter().filter(|row| row.is_folder()).map(|row| (row.name, row.root)).collect())
}

/// Formats a text as a link to an address, which contains no control characters.
pub(super) fn linked(address: &str, text: &str) -> String {
    format!("{BEGIN}{address}{END}{text}{BEGIN}{END}")
}

/// Removes the links from a text of this program.
pub(super) fn without_links(text: &str) -> Cow<'_, str> {
    if !text.contains(BEGIN) {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split(BEGIN);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once(END).map_or(part, |(_, text)| text));
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(format: &str) -> Links {
        let roots = [("shop", "/srv/a b"), ("tools", "/srv/tools/")];
        let roots = roots.map(|(name, root)| (name.to_owned(), root.to_owned()));
        let format = Some(LinkFormat::parse(format).unwrap());
        Links { format, host: "pc".into(), roots: roots.into(), only: Some("shop".into()) }
    }

    fn place<'a>(repository: Option<&'a str>, file: &'a str) -> LinkedPlace<'a> {
        LinkedPlace { repository, file, line: Some(7), column: None }
    }

    #[test]
    fn only_known_terminals_have_links_unless_they_are_forced() {
        let has = |is_terminal: bool, variables: &[(&str, &str)]| {
            let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            has_hyperlinks(is_terminal, &environment.collect())
        };
        for known in [
            [("TERM", "xterm-kitty")],
            [("VTE_VERSION", "7600")],
            [("TERM_PROGRAM", "WezTerm")],
            [("KONSOLE_VERSION", "230804")],
            [("COLORTERM", "xfce4-terminal")],
        ] {
            assert!(has(true, &known) && !has(false, &known), "{known:?}");
            assert!(!has(true, &[known[0], ("TMUX", "/tmp/x")]), "{known:?}");
            assert!(!has(true, &[known[0], ("FORCE_HYPERLINK", "0")]), "{known:?}");
        }
        for unknown in
            [("TERM", "xterm-256color"), ("VTE_VERSION", "5000"), ("TERM_PROGRAM", "Apple_Terminal")]
        {
            assert!(!has(true, &[unknown]), "{unknown:?}");
            assert!(has(true, &[unknown, ("FORCE_HYPERLINK", "1")]), "{unknown:?}");
        }
    }

    #[test]
    fn an_address_has_the_variables_of_its_format() {
        let file = links("file://{host}{path}");
        assert_eq!(file.address(&place(None, "src/ü.rs")).unwrap(), "file://pc/srv/a%20b/src/%C3%BC.rs");
        assert_eq!(file.address(&place(Some("tools"), "x")).unwrap(), "file://pc/srv/tools/x");
        assert_eq!(file.address(&place(Some("records"), "x")), None);
        let editor = links("vscode://file{path}:{line}:{column}");
        assert_eq!(editor.address(&place(None, "{line}")).unwrap(), "vscode://file/srv/a%20b/%7Bline%7D:7:1");
    }

    #[test]
    fn a_hostile_name_cannot_leave_its_link() {
        let links = links("file://{host}{path}");
        for name in ["a\u{1b}\\\u{1b}]0;x\u{7}", "\\u{1b}\\u{202e}", "a\u{9c}b;c?d#e%41"] {
            let shown = links.link(&place(None, name), "text".into());
            let address = shown.strip_prefix(BEGIN).and_then(|shown| shown.split_once(END)).unwrap().0;
            assert!(address.chars().all(|char| char.is_ascii_graphic()), "{address:?}");
            assert!(!address.contains([';', '?', '#']), "{address}");
            assert_eq!(without_links(&shown), "text");
            assert_eq!(anstream::adapter::strip_str(&shown).to_string(), "text");
        }
    }

    #[test]
    fn formats_that_are_no_addresses_are_refused() {
        for bad in
            ["", "path", "{path}", "file://{host}", "file://{path} x", "file://{path}\u{7}", "x:{path}{row}"]
        {
            assert_eq!(LinkFormat::parse(bad).unwrap_err().code, ErrorCode::InvalidInput, "{bad:?}");
        }
    }
}
