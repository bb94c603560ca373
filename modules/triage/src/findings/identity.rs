//! Identity of a finding. A report claims it in several ways, and none of them is trusted alone: a fingerprint may be the same text for all
//! results, one CVE has many packages, and alerts of two repositories have the same number. So each item has all its claims, the strongest
//! first, and [`super::matching`] takes the first that only one item has.

use super::record::{Package, Record, record_id};
use super::source::FindingSource;
use store::triage::{Identity, Related};

/// Maximum number of claims of an item; the others are ignored.
const CLAIMS_MAX: usize = 12;

/// Texts that scanners write where a fingerprint is unknown.
const PLACEHOLDERS: &[&str] = &["", "-", "0", "n/a", "na", "none", "null", "undefined", "unknown", "todo"];

/// Claims of an item about its identity, as the mapping of its format finds them.
#[derive(Debug, Default)]
pub(super) struct Claims {
    claims: Vec<(String, bool)>,
    facts: Vec<String>,
    former_key: Option<String>,
}

impl Claims {
    /// Claims that `parts` together identify the finding within its service, environment and repository. Ignored if the first part is
    /// missing.
    pub(super) fn add(&mut self, name: &str, parts: &[Option<&str>]) {
        self.push(name, parts, false);
    }

    /// Claims that `parts` identify the finding wherever it was found.
    pub(super) fn add_global(&mut self, name: &str, parts: &[Option<&str>]) {
        self.push(name, parts, true);
    }

    fn push(&mut self, name: &str, parts: &[Option<&str>], is_global: bool) {
        if parts.first().is_some_and(Option::is_some) && self.claims.len() < CLAIMS_MAX {
            self.claims.push((joined(name, parts), is_global));
        }
    }

    /// Adds facts that distinguish the item from others with the same claims.
    pub(super) fn add_facts(&mut self, facts: &[Option<&str>]) {
        self.facts.extend(facts.iter().map(|fact| fact.unwrap_or_default().to_owned()));
    }

    /// Sets the key by which older programs identified the item.
    pub(super) fn set_former_key(&mut self, key: Option<String>) {
        self.former_key = key;
    }

    /// Returns whether older programs had a key for the item.
    pub(super) fn has_former_key(&self) -> bool {
        self.former_key.is_some()
    }

    /// Returns the claims of an item of a report with this scope as hashes; `raw` is the item.
    pub(super) fn into_key(self, scope: &str, item: &Record, raw: impl FnOnce() -> String) -> ItemKey {
        let digest = |text: &str| Digest::of(&[scope, text]);
        let mut claims: Vec<Claim> = self
            .claims
            .iter()
            .map(|(text, is_global)| Claim { digest: digest(text), is_global: *is_global })
            .collect();
        let texts = self.claims.iter().map(|(text, _)| text.as_str());
        let all: Vec<&str> = texts.chain(self.facts.iter().map(String::as_str)).collect();
        let place = place_of(item);
        let mut parts = vec![Some(place.as_str())];
        parts.extend([&item.service, &item.env, &item.repo].map(Option::as_deref));
        parts.extend(all.into_iter().map(Some));
        claims.push(Claim { digest: digest(&joined("all", &parts)), is_global: false });
        let former_key = self.former_key.unwrap_or_else(raw);
        ItemKey {
            scope: Digest::of(&[scope]),
            claims,
            former_id: record_id(&item.source, &former_key),
            place: stored_place(item),
            related: Related::default(),
        }
    }
}

/// Returns a scope as it is stored.
pub(super) fn scope_hash(scope: &str) -> String {
    Digest::of(&[scope]).to_text()
}

/// Returns whether a text that a scanner calls a fingerprint can be one.
pub(super) fn can_identify(fingerprint: &str) -> bool {
    let text = fingerprint.trim().to_lowercase();
    !PLACEHOLDERS.contains(&text.as_str()) && !text.contains(char::is_whitespace)
}

/// Joins texts so that no other list of texts gives the same result.
fn joined(name: &str, parts: &[Option<&str>]) -> String {
    let mut text = name.to_owned();
    for part in parts {
        match part {
            Some(part) => text.push_str(&format!("\u{1}{}:{part}", part.len())),
            None => text.push('\u{2}'),
        }
    }
    text
}

/// The identity of an item of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemKey {
    /// Format, tool and category of the report.
    pub(super) scope: Digest,
    /// The strongest claim first; the last one is of all facts together.
    pub(super) claims: Vec<Claim>,
    /// The record id that older programs gave the item.
    pub(super) former_id: String,
    /// The content by which the item of an older program's record is recognised.
    pub(super) place: Digest,
    /// Service, environment and repository, folded.
    pub(super) related: Related,
}

/// A text that claims to identify a finding, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) digest: Digest,
    /// `true` if it also holds in other services, environments and repositories.
    pub(super) is_global: bool,
}

/// 128 bits of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Digest(u128);

impl Digest {
    /// Returns the hash of a list of texts.
    pub(super) fn of(parts: &[&str]) -> Self {
        let parts: Vec<Option<&str>> = parts.iter().copied().map(Some).collect();
        let hash = blake3::hash(joined("", &parts).as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns the stored form: 32 hexadecimal digits.
    pub(super) fn to_text(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Reads what [`Self::to_text`] wrote.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl ItemKey {
    /// Returns the claim of all facts together.
    pub(super) fn whole(&self) -> Option<Digest> {
        self.claims.last().map(|claim| claim.digest)
    }

    /// Returns the identity as it is stored.
    pub(super) fn to_identity(&self) -> Identity {
        Identity {
            scope: self.scope.to_text(),
            claims: self.claims.iter().map(|claim| claim.digest.to_text()).collect(),
        }
    }
}

/// Returns the affected component and its place.
fn place_of(record: &Record) -> String {
    let package = &record.package;
    let mut parts: Vec<Option<String>> = [
        &record.vuln.vuln_id, &package.name, &package.ecosystem, &package.installed_version,
        &package.manifest_path, &package.purl, &record.asset.asset_id,
    ]
    .map(Clone::clone)
    .to_vec();
    for location in &record.locations {
        parts.push(Some(format!("{}:{:?}:{:?}", location.path, location.start_line, location.end_line)));
    }
    let parts: Vec<Option<&str>> = parts.iter().map(Option::as_deref).collect();
    joined("place", &parts)
}

/// Returns the content by which the item of an older program's record is recognised. Older records had no packages of code scanners.
pub(super) fn stored_place(record: &Record) -> Digest {
    let mut record = record.clone();
    if record.source == FindingSource::Sarif.as_str() {
        record.package = Package::default();
    }
    Digest::of(&[&place_of(&record), record.vuln.description.as_deref().unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_content_are_no_fingerprints() {
        for text in ["requires login", "", " ", "unknown", "N/A", "fix the bug"] {
            assert!(!can_identify(text), "{text}");
        }
        for text in ["abc:1", "39fa2ee980eb94b0:1", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "a"] {
            assert!(can_identify(text), "{text}");
        }
    }

    #[test]
    fn lists_of_texts_are_not_confused() {
        let lists: [&[Option<&str>]; 5] = [
            &[Some("a"), Some("b")],
            &[Some("ab")],
            &[Some("a"), None, Some("b")],
            &[Some("a\u{1}1:b")],
            &[],
        ];
        for (at, one) in lists.iter().enumerate() {
            for other in &lists[at + 1..] {
                assert_ne!(joined("", one), joined("", other));
            }
        }
        let digest = Digest::of(&["a", "b"]);
        assert_eq!(Digest::from_text(&digest.to_text()), Some(digest));
    }

    #[test]
    fn a_claim_needs_its_first_part() {
        let of = |parts: &[Option<&str>]| {
            let mut claims = Claims::default();
            claims.add("a", parts);
            claims.into_key("s", &Record::default(), String::new).claims.len()
        };
        assert_eq!([of(&[None, Some("b")]), of(&[Some("b"), None])], [1, 2], "beside that of all facts");
    }
}
