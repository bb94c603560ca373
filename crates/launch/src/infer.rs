//! Infers the family and platform of a repository from its name, its manifests, its README, and a run configuration in it.
//!
//! Each of these is a signal with a weight. Independent signals for one value add up: each removes a part of the doubt that the others
//! leave. A value is accepted only if hardly any doubt is left and no other value comes near it, because a wrong guess would become a
//! folder of a site.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::addresses::{is_slug, platform_named};
use crate::config::Platform;
use crate::evidence::is_readme;
use crate::manifest::{Manifests, is_manifest};

/// Maximum number of files that are read of a repository.
pub const FILES_MAX: usize = 64;
/// Longest of them, in bytes.
pub const FILE_BYTES_MAX: usize = 256 << 10;

/// The configuration of a run that a repository may have.
const CONFIG_FILE: &str = "run_config.json";

/// Weights of signals, in percent.
mod weight {
    /// The configuration says it.
    pub(super) const CONFIG: u64 = 95;
    /// The name says it in a form that leaves little choice: `Shop.Till-for-Python`.
    pub(super) const CLEAR_NAME: u64 = 90;
    /// The name ends with a platform, as many do that are not named after it.
    pub(super) const NAME_WITH_PLATFORM: u64 = 70;
    /// The name alone.
    pub(super) const NAME: u64 = 60;
    /// Manifests of one platform only, and of several.
    pub(super) const ONLY_MANIFEST: u64 = 85;
    pub(super) const MANIFEST: u64 = 70;
    /// The name of a package has it.
    pub(super) const PACKAGE: u64 = 60;
    /// The title of the README has it, or only its text.
    pub(super) const TITLE: u64 = 50;
    pub(super) const MENTION: u64 = 20;
}

/// The doubt without any signal, large enough that hundredths of it are whole numbers.
const ALL_DOUBT: u64 = 1_000_000_000_000;
/// Maximum doubt of an accepted value: less than a fifth, so that the confidence is over 80 %.
const DOUBT_MAX: u64 = ALL_DOUBT / 100 * 20;
/// Least distance to the next best value.
const LEAD_MIN: u64 = ALL_DOUBT / 100 * 15;

/// Values that are suggested if none is accepted.
const SUGGESTIONS_MAX: usize = 5;
/// Longest title that is taken for the name of a product.
const TITLE_CHARS_MAX: usize = 60;
/// Words of a title that can be nothing but a name.
const TITLE_WORDS_MAX: usize = 3;
/// Words in names of repositories that say nothing about the product.
const EDITIONS: &[&str] = &["foss", "oss"];

/// Words by which READMEs name platforms. Those that are also English words do not count in running text.
const MENTIONS: &[(&str, Platform)] = &[
    ("Android", Platform::Android),
    ("C++", Platform::Cpp),
    (".NET", Platform::Dotnet),
    ("C#", Platform::Dotnet),
    ("Golang", Platform::Go),
    ("Java", Platform::Java),
    ("JavaScript", Platform::Javascript),
    ("Node.js", Platform::Javascript),
    ("Kotlin", Platform::Kotlin),
    ("PHP", Platform::Php),
    ("Python", Platform::Python),
    ("Rust", Platform::Rust),
    ("TypeScript", Platform::Typescript),
];

/// The parts of a repository that are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its owner; empty if unknown.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// The files accepted by [`is_read`], by their paths.
    pub files: BTreeMap<String, String>,
}

/// Returns `true` if a file is read: the README, a configuration, and manifests of the repository and of its folders.
#[must_use]
pub fn is_read(path: &str) -> bool {
    match path.split_once('/') {
        Some((_, below)) if below.contains('/') => false,
        None => is_readme(path) || path == CONFIG_FILE || platform_of_manifest(path, "").is_some(),
        Some((folder, name)) => !folder.starts_with('.') && platform_of_manifest(name, "").is_some(),
    }
}

/// Selects the files to read: those of the root first, and no more than [`FILES_MAX`].
#[must_use]
pub fn files_to_read(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut chosen: Vec<String> = paths.filter(|path| is_read(path)).collect();
    chosen.sort_by(|a, b| a.contains('/').cmp(&b.contains('/')).then_with(|| a.cmp(b)));
    chosen.truncate(FILES_MAX);
    chosen
}

/// Guesses at one value, each with its remaining doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guesses<T>(BTreeMap<T, u64>);

impl<T> Default for Guesses<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Guesses<T> {
    /// Adds a signal. Rounds against the value.
    fn add(&mut self, value: T, percent: u64) {
        let doubt = self.0.entry(value).or_insert(ALL_DOUBT);
        *doubt = (*doubt * 100_u64.saturating_sub(percent)).div_ceil(100);
    }

    /// All values, the best first, and equally good ones in their own order.
    fn ordered(&self) -> Vec<(&T, u64)> {
        let mut all: Vec<(&T, u64)> = self.0.iter().map(|(value, doubt)| (value, *doubt)).collect();
        all.sort_by_key(|(_, doubt)| *doubt);
        all
    }

    /// Returns the accepted value: over 80 % certain, and at least 15 points ahead of the next one.
    #[must_use]
    pub fn decided(&self) -> Option<&T> {
        let ordered = self.ordered();
        let (best, doubt) = ordered.first()?;
        let next = ordered.get(1).map_or(ALL_DOUBT, |(_, doubt)| *doubt);
        (*doubt < DOUBT_MAX && next.saturating_sub(*doubt) >= LEAD_MIN).then_some(*best)
    }

    /// Returns the best values, whether or not one is accepted.
    #[must_use]
    pub fn suggestions(&self) -> Vec<&T> {
        self.ordered().into_iter().take(SUGGESTIONS_MAX).map(|(value, _)| value).collect()
    }
}

/// Facts about a product that are inferred from its repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inference {
    /// The family of products, as paths name it.
    pub family: Guesses<String>,
    /// The platform.
    pub platform: Guesses<Platform>,
    /// The name of the product for people.
    pub product_name: String,
}

/// Infers the facts about the product of a repository.
#[must_use]
pub fn infer(metadata: &Metadata) -> Inference {
    let (mut family, mut platform) = (Guesses::default(), Guesses::default());
    let name = NameParts::read(&metadata.owner, &metadata.name);
    if let Some(value) = &name.family {
        family.add(value.clone(), name.percent);
    }
    if let Some(value) = name.platform {
        platform.add(value, name.percent);
    }
    let config = Config::read(metadata);
    if let Some(value) = config.family {
        family.add(value, weight::CONFIG);
    }
    if let Some(value) = config.platform {
        platform.add(value, weight::CONFIG);
    }
    for value in families_of_packages(metadata, name.family.as_deref()) {
        family.add(value, weight::PACKAGE);
    }
    let by_manifest = platforms_of_manifests(metadata);
    let of_manifest = if by_manifest.len() == 1 { weight::ONLY_MANIFEST } else { weight::MANIFEST };
    for value in by_manifest {
        platform.add(value, of_manifest);
    }
    let readme =
        metadata.files.iter().find(|(path, _)| is_readme(path)).map_or("", |(_, text)| text.as_str());
    let title = title_of(readme).unwrap_or_default();
    add_readme(&mut family, &mut platform, title, readme);
    let best = family.ordered().first().map(|(value, _)| (*value).clone());
    let is_of_product = |title: &str| best.as_ref().is_some_and(|value| has_words(&words(title), value));
    let product_name = config.product_name.unwrap_or_else(|| match is_name(title) && is_of_product(title) {
        true => title.to_owned(),
        false => spoken(&metadata.name),
    });
    Inference { family, platform, product_name }
}

/// Returns `true` if the name of a repository, with that of its owner, has the words of a product.
#[must_use]
pub fn is_about(owner: &str, name: &str, product: &str) -> bool {
    has_words(&words(name), product) || has_words(&words(owner), product)
}

/// The parts of the name of a repository.
#[derive(Debug, PartialEq, Eq)]
struct NameParts {
    family: Option<String>,
    platform: Option<Platform>,
    percent: u64,
}

impl NameParts {
    /// Reads names such as `Shop.Till-for-Python-via-.NET`, `shop-till-foss-python`, `till-python` and `till`.
    fn read(owner: &str, name: &str) -> Self {
        let mut parts = words(name);
        // The part after `via` is how it is made, not for whom.
        if let Some(at) = parts.iter().position(|part| part == "via").filter(|at| *at > 0) {
            parts.truncate(at);
        }
        let has_edition = parts.iter().any(|part| EDITIONS.contains(&part.as_str()));
        parts.retain(|part| !EDITIONS.contains(&part.as_str()));
        let is_for = |parts: &[String]| match parts {
            [before @ .., marker, platform] if marker == "for" && !before.is_empty() => {
                platform_named(platform).map(|platform| (before.to_vec(), platform))
            }
            _ => None,
        };
        let ends_with = |parts: &[String]| match parts {
            [before @ .., platform] if !before.is_empty() => {
                platform_named(platform).map(|platform| (before.to_vec(), platform))
            }
            _ => None,
        };
        let owners = words(owner);
        if let Some((before, platform)) = is_for(&parts) {
            let first = before.first().map_or(0, String::len);
            let is_dotted = name.get(first..).is_some_and(|rest| rest.starts_with('.'));
            let is_vendor = is_dotted || owners.first() == before.first();
            return Self::new(before, is_vendor, Some(platform), weight::CLEAR_NAME);
        }
        let is_owner = owners.len() == 1 && owners.first() == parts.first();
        if let Some((before, platform)) = ends_with(&parts) {
            let percent = if has_edition { weight::CLEAR_NAME } else { weight::NAME_WITH_PLATFORM };
            let is_vendor = is_owner || (has_edition && before.len() > 1);
            return Self::new(before, is_vendor, Some(platform), percent);
        }
        Self::new(parts, is_owner, None, weight::NAME)
    }

    /// The words before the platform are the family, without that of the vendor.
    fn new(mut before: Vec<String>, has_vendor: bool, platform: Option<Platform>, percent: u64) -> Self {
        if has_vendor && before.len() > 1 {
            before.remove(0);
        }
        let family = Some(before.join("-")).filter(|family| is_slug(family));
        Self { family, platform, percent }
    }
}

/// The values of a run configuration in the repository, as far as they can be parsed.
#[derive(Debug, Default)]
struct Config {
    family: Option<String>,
    platform: Option<Platform>,
    product_name: Option<String>,
}

impl Config {
    fn read(metadata: &Metadata) -> Self {
        let text = metadata.files.get(CONFIG_FILE).map_or("", String::as_str);
        let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return Self::default() };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        Self {
            family: text("family").filter(|family| is_slug(family)).map(str::to_owned),
            platform: text("target_platform").and_then(platform_named),
            product_name: text("product_name").filter(|name| is_name(name)).map(str::to_owned),
        }
    }
}

/// The platforms of the manifests at the root or, if it has none, of those in folders.
fn platforms_of_manifests(metadata: &Metadata) -> BTreeSet<Platform> {
    let of = |is_at_root: bool| -> BTreeSet<Platform> {
        let files = metadata.files.iter().filter(|(path, _)| path.contains('/') != is_at_root);
        let named = files.filter_map(|(path, text)| platform_of_manifest(file_name(path), text));
        let mut found: BTreeSet<Platform> = named.collect();
        // A package of npm is of TypeScript if it is compiled from it.
        if found.contains(&Platform::Typescript) {
            found.remove(&Platform::Javascript);
        }
        found
    };
    Some(of(true)).filter(|found| !found.is_empty()).unwrap_or_else(|| of(false))
}

fn platform_of_manifest(name: &str, text: &str) -> Option<Platform> {
    match name {
        "pyproject.toml" | "setup.py" | "setup.cfg" => Some(Platform::Python),
        "Cargo.toml" => Some(Platform::Rust),
        "go.mod" => Some(Platform::Go),
        "pom.xml" | "build.gradle" | "build.gradle.kts" => Some(match text {
            text if text.contains("com.android.") => Platform::Android,
            text if text.contains("org.jetbrains.kotlin") || text.contains("kotlin(\"") => Platform::Kotlin,
            _ => Platform::Java,
        }),
        "package.json" => Some(Platform::Javascript),
        "tsconfig.json" => Some(Platform::Typescript),
        "composer.json" => Some(Platform::Php),
        "Package.swift" => Some(Platform::Swift),
        "CMakeLists.txt" | "vcpkg.json" | "conanfile.txt" | "conanfile.py" => Some(Platform::Cpp),
        _ => match name.rsplit_once('.')?.1 {
            "csproj" | "fsproj" | "vbproj" | "sln" => Some(Platform::Dotnet),
            "gemspec" => Some(Platform::Ruby),
            _ => None,
        },
    }
}

/// Returns the families that the packages of the repository are named after, each once. A package whose name contains the family of the
/// repository's name counts for that family.
fn families_of_packages(metadata: &Metadata, of_name: Option<&str>) -> BTreeSet<String> {
    let mut manifests = Manifests::default();
    for (path, text) in metadata.files.iter().filter(|(path, _)| !path.contains('/') && is_manifest(path)) {
        manifests.read(path, text);
    }
    let family = |package: &str| {
        // The last part of `@acme/till`, `acme/till` and `example.com/acme/till`.
        let parts = words(file_name(package));
        match of_name.filter(|family| has_words(&parts, family)) {
            Some(family) => Some(family.to_owned()),
            None => NameParts::read(&metadata.owner, &parts.join("-")).family,
        }
    };
    manifests.packages.iter().filter_map(|package| family(&package.name)).collect()
}

/// Adds the signals of the README, once for each value.
fn add_readme(family: &mut Guesses<String>, platform: &mut Guesses<Platform>, title: &str, readme: &str) {
    let (in_title, in_text) = (words(title), words(readme));
    let known: Vec<String> = family.0.keys().cloned().collect();
    let is_new = !known.iter().any(|value| has_words(&in_title, value));
    for value in known {
        if has_words(&in_title, &value) {
            family.add(value, weight::TITLE);
        } else if has_words(&in_text, &value) {
            family.add(value, weight::MENTION);
        }
    }
    if is_new && is_name(title) {
        let named = NameParts::read("", title).family;
        if let Some(value) = named.filter(|value| value.split('-').count() <= TITLE_WORDS_MAX) {
            family.add(value, weight::TITLE);
        }
    }
    let titled: BTreeSet<Platform> =
        in_title.iter().filter_map(|word| platform_named(word)).chain(mentioned(title)).collect();
    let mut mentioned: BTreeSet<Platform> = mentioned(readme).collect();
    mentioned.retain(|value| !titled.contains(value));
    for (values, percent) in [(titled, weight::TITLE), (mentioned, weight::MENTION)] {
        for value in values {
            platform.add(value, percent);
        }
    }
}

/// Returns the platforms that a text names in their usual spelling, as whole words.
fn mentioned(text: &str) -> impl Iterator<Item = Platform> {
    MENTIONS.iter().filter(|(word, _)| has_whole(text, word)).map(|(_, platform)| *platform)
}

fn has_whole(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The first heading of a README in Markdown.
fn title_of(readme: &str) -> Option<&str> {
    let heading = readme.lines().find_map(|line| line.strip_prefix("# "))?.trim();
    let opened = heading.trim_end_matches('#');
    // Trailing `#`s close the heading only after a space: `C#` is a name.
    let is_closed = opened.is_empty() || opened.ends_with(char::is_whitespace);
    let title = if is_closed { opened.trim_end() } else { heading };
    Some(title).filter(|title| !title.is_empty())
}

/// Returns `true` if a text can be the name of a product: one short line without markup. `#1` counts as markup, because forges link it, and
/// a commit message such as "Document Till fixes #1" would close an issue of the site.
fn is_name(text: &str) -> bool {
    let names_issue = text.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    let is_plain = |letter: char| letter.is_alphanumeric() || " .,+#-&'()/".contains(letter);
    let count = text.chars().count();
    (1..=TITLE_CHARS_MAX).contains(&count)
        && text.chars().all(is_plain)
        && text.trim() == text
        && !names_issue
}

/// Returns the name of a repository with spaces, as people say it.
fn spoken(name: &str) -> String {
    let spaced = name.replace(['-', '_'], " ");
    let spoken = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    if spoken.is_empty() { name.to_owned() } else { spoken }
}

/// The words of a text in lower case: letters and digits between other signs.
fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Returns `true` if the words of `wanted` follow one another in `words`.
fn has_words(words: &[String], wanted: &str) -> bool {
    let wanted: Vec<&str> = wanted.split('-').collect();
    words.windows(wanted.len().max(1)).any(|window| window.iter().eq(wanted.iter()))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
