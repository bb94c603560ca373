//! The configuration of a run. It names a site profile of the operator, and never an address to call, a token or a command.

use std::collections::BTreeSet;

use contract::{Violation, echo};
use platform::sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::allowed_paths::{AllowedPaths, is_portable, segments};
use crate::report::{Profile, sorted, stable_json};

/// Version of the form of the configuration.
pub const CONFIG_SCHEMA_VERSION: &str = "1.0";

/// Fixes that a run may try if its configuration does not say.
const FIX_ATTEMPTS_DEFAULT: u16 = 3;
/// The language of pages if the configuration does not say.
pub const LOCALE_DEFAULT: &str = "en";
/// Lines of a page if the configuration does not say.
const LINES_PER_FILE_DEFAULT: u32 = 500;

/// Fields that such configurations have elsewhere and that a run must not have: the operator decides where things are.
const RESERVED: [&str; 12] = [
    "llm", "mcp", "telemetry", "commit_service", "checks", "command", "token", "api_base_url",
    "site_repo_url", "workflows_repo_url", "extra_evidence_urls", "hugo",
];
/// Depth to which a configuration is searched for them; its own fields are two deep.
const RESERVED_DEPTH_MAX: usize = 8;
/// Maximum number of reserved fields that are listed.
const RESERVED_LISTED_MAX: usize = 32;

/// A section of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// What the product is.
    Products,
    /// How to use it.
    Docs,
    /// Its interface.
    Reference,
    /// Answers to single questions.
    Kb,
    /// News.
    Blog,
}

impl Section {
    /// All sections, in their fixed order.
    pub const ALL: [Self; 5] = [Self::Products, Self::Docs, Self::Reference, Self::Kb, Self::Blog];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Products => "products",
            Self::Docs => "docs",
            Self::Reference => "reference",
            Self::Kb => "kb",
            Self::Blog => "blog",
        }
    }

    /// The section with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.as_str() == text)
    }
}

/// Where a site keeps the pages of a platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LayoutMode {
    /// As the folders of each section show.
    #[default]
    Auto,
    /// Without a folder for the platform.
    V1,
    /// In a folder for the platform.
    V2,
}

/// How much is written, the least first. Each tier has the pages of the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LaunchTier {
    /// The pages that every product has, with little on each.
    Minimal,
    /// Also a page of examples, and more on each page.
    #[default]
    Standard,
    /// The same pages as `standard`, with the most on each.
    Rich,
}

/// The platform that the product is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Android.
    Android,
    /// C++.
    Cpp,
    /// .NET.
    Dotnet,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript.
    Javascript,
    /// Kotlin.
    Kotlin,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// Swift.
    Swift,
    /// TypeScript.
    Typescript,
}

/// A configuration as a caller sends it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfigInput {
    /// Version of this form: 1.0.
    #[schemars(schema_with = "version_schema")]
    pub schema_version: String,
    /// The product in paths and in the branch, such as `shop-cart`.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub product_slug: String,
    /// The product as pages name it.
    #[schemars(length(min = 1, max = 200))]
    pub product_name: String,
    /// The family of products.
    #[schemars(length(min = 1, max = 64), regex(pattern = r"^[a-z0-9]+(-[a-z0-9]+)*$"))]
    pub family: Option<String>,
    /// The indexed repository: its address, or its name or path.
    #[schemars(length(min = 1, max = 2000))]
    pub github_repo_url: String,
    /// A branch, a tag or a commit; default: the indexed commit.
    #[schemars(length(min = 1, max = 255))]
    pub github_ref: Option<String>,
    /// The platform of the product.
    pub target_platform: Option<Platform>,
    /// Languages of the site; pages are written in the first, because nothing is translated. Default en.
    #[schemars(length(min = 1, max = 20), inner(regex(pattern = r"^[a-z]{2}(-[A-Za-z]{2,8})?$")))]
    pub locales: Option<Vec<String>>,
    /// The sections that get pages.
    #[schemars(length(min = 1))]
    pub required_sections: BTreeSet<Section>,
    /// The operator's name of the site.
    #[schemars(length(min = 1, max = 64))]
    pub site_profile: String,
    /// Paths of the site that may be changed; default, and at most, those of the profile.
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 1024)))]
    pub allowed_paths: Option<Vec<String>>,
    /// Where the site keeps the pages of a platform; default auto.
    pub layout_mode: Option<LayoutMode>,
    /// How much is written; default standard.
    pub launch_tier: Option<LaunchTier>,
    /// How strict the gates are; default local.
    pub validation_profile: Option<Profile>,
    /// Only false: statements without evidence are never written.
    #[schemars(schema_with = "only_false")]
    #[serde(default)]
    pub allow_inference: Option<bool>,
    /// Most fixes; default 3.
    #[schemars(range(min = 0, max = 10))]
    pub max_fix_attempts: Option<u16>,
    /// Limits of the change.
    pub budgets: Option<BudgetsInput>,
}

fn version_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "enum": [CONFIG_SCHEMA_VERSION] })
}

fn only_false(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "boolean", "enum": [false] })
}

/// Limits of the change, as a caller sends them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetsInput {
    /// Most changed files; default, and at most, the operator's limit.
    #[schemars(range(min = 1, max = 10000))]
    pub max_files_changed: Option<u32>,
    /// Most lines of a changed file; default 500.
    #[schemars(range(min = 1, max = 20000))]
    pub max_lines_per_file: Option<u32>,
}

/// Limits of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// Maximum number of changed files.
    pub max_files_changed: u32,
    /// Maximum number of lines of a changed file.
    pub max_lines_per_file: u32,
}

/// The configuration of a run: complete, and pinned to a commit. It does not change while the run lives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Version of this form.
    pub schema_version: String,
    /// The product in paths and in the branch.
    pub product_slug: String,
    /// The product as pages name it.
    pub product_name: String,
    /// The family of products.
    pub family: Option<String>,
    /// The repository as the caller named it.
    pub github_repo_url: String,
    /// The commit.
    pub github_ref: String,
    /// The platform of the product.
    pub target_platform: Option<Platform>,
    /// Languages of the site; pages are written in the first.
    pub locales: Vec<String>,
    /// The sections that get pages.
    pub required_sections: BTreeSet<Section>,
    /// The operator's name of the site.
    pub site_profile: String,
    /// Paths of the site that may be changed.
    pub allowed_paths: Vec<String>,
    /// Layout of the pages of a platform.
    pub layout_mode: LayoutMode,
    /// Amount of content that is written.
    pub launch_tier: LaunchTier,
    /// Strictness of the gates.
    pub validation_profile: Profile,
    /// Always false.
    pub allow_inference: bool,
    /// Maximum number of fixes.
    pub max_fix_attempts: u16,
    /// Limits of the change.
    pub budgets: Budgets,
}

/// Values that the operator and the repository contribute to a configuration.
#[derive(Debug, Clone, Copy)]
pub struct Pins<'a> {
    /// The commit that `github_ref` names, 40 hexadecimal digits.
    pub repo_sha: &'a str,
    /// The paths that the site profile allows.
    pub allowed_paths: &'a [String],
    /// Maximum number of changed files of a run.
    pub files_changed_max: u32,
}

impl RunConfig {
    /// Fills in defaults and pins. `input` fits its schema.
    ///
    /// # Errors
    /// The rules that it breaks beyond its schema.
    pub fn resolve(input: RunConfigInput, pins: Pins<'_>) -> Result<Self, Vec<Violation>> {
        let mut violations = texts_with_breaks(&input);
        violations.extend(names_of_devices(&input));
        let allowed_paths = match &input.allowed_paths {
            None => pins.allowed_paths.to_vec(),
            Some(paths) => {
                violations.extend(outside(paths, pins.allowed_paths));
                paths.clone()
            }
        };
        let locales = input.locales.unwrap_or_else(|| vec![LOCALE_DEFAULT.to_owned()]);
        if locales.iter().collect::<BTreeSet<_>>().len() < locales.len() {
            let message = "`locales` must not have duplicate elements.".to_owned();
            violations.push(violation("/locales", "uniqueItems", json!({}), message));
        }
        let budgets = input.budgets.unwrap_or_default();
        let max_files_changed = budgets.max_files_changed.unwrap_or(pins.files_changed_max);
        if max_files_changed > pins.files_changed_max {
            let limit = pins.files_changed_max;
            let message = format!("`budgets.max_files_changed` must be at most {limit}.");
            let params = json!({ "comparison": "<=", "limit": limit });
            violations.push(violation("/budgets/max_files_changed", "maximum", params, message));
        }
        if !violations.is_empty() {
            return Err(violations);
        }
        Ok(Self {
            schema_version: input.schema_version,
            product_slug: input.product_slug,
            product_name: input.product_name,
            family: input.family,
            github_repo_url: input.github_repo_url,
            github_ref: pins.repo_sha.to_owned(),
            target_platform: input.target_platform,
            locales,
            required_sections: input.required_sections,
            site_profile: input.site_profile,
            allowed_paths,
            layout_mode: input.layout_mode.unwrap_or_default(),
            launch_tier: input.launch_tier.unwrap_or_default(),
            validation_profile: input.validation_profile.unwrap_or_default(),
            allow_inference: false,
            max_fix_attempts: input.max_fix_attempts.unwrap_or(FIX_ATTEMPTS_DEFAULT),
            budgets: Budgets {
                max_files_changed,
                max_lines_per_file: budgets.max_lines_per_file.unwrap_or(LINES_PER_FILE_DEFAULT),
            },
        })
    }

    /// The language in which pages are written.
    #[must_use]
    pub fn locale(&self) -> &str {
        self.locales.first().map_or(LOCALE_DEFAULT, String::as_str)
    }

    /// SHA-256 of the configuration as JSON with sorted keys and without spaces.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        sha256::digest(sorted(serde_json::to_value(self).unwrap_or_default()).to_string().as_bytes())
    }

    /// The configuration as the artifact `run_config.json`.
    #[must_use]
    pub fn to_json(&self) -> String {
        stable_json(self)
    }

    /// Reads what [`RunConfig::to_json`] wrote.
    ///
    /// # Errors
    /// If this program did not write it.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Names of the fields in which two configurations differ, sorted.
    #[must_use]
    pub fn differing_fields(&self, other: &Self) -> Vec<String> {
        let fields = |config: &Self| match serde_json::to_value(config) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (ours, theirs) = (fields(self), fields(other));
        let mut names: Vec<String> = ours
            .iter()
            .filter(|(name, value)| theirs.get(*name) != Some(value))
            .map(|(name, _)| name.clone())
            .collect();
        names.sort();
        names
    }
}

/// Free texts that have more than one line, or characters that change how a line is shown. They become parts of commit messages, titles
/// and reports, where a line break would begin another part.
fn texts_with_breaks(input: &RunConfigInput) -> Vec<Violation> {
    let is_break = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let texts = [
        ("product_name", Some(&input.product_name)),
        ("github_repo_url", Some(&input.github_repo_url)),
        ("github_ref", input.github_ref.as_ref()),
        ("site_profile", Some(&input.site_profile)),
    ];
    let broken = texts.into_iter().filter(|(_, text)| text.is_some_and(|text| text.contains(is_break)));
    let broken = broken.map(|(name, _)| {
        let message = format!("`{name}` must be one line without control characters.");
        violation(&format!("/{name}"), "pattern", json!({ "pattern": "^[^\\p{Cc}]*$" }), message)
    });
    broken.collect()
}

/// Names that become folders, and that some systems cannot have.
fn names_of_devices(input: &RunConfigInput) -> Vec<Violation> {
    let names = [("product_slug", Some(&input.product_slug)), ("family", input.family.as_ref())];
    let devices = names.into_iter().filter(|(_, name)| name.is_some_and(|name| !is_portable(name)));
    let devices = devices.map(|(field, _)| {
        let message = format!("`{field}` is the name of a device on Windows, which no folder can have.");
        violation(&format!("/{field}"), "not", json!({}), message)
    });
    devices.collect()
}

/// Reports paths that are invalid, or that the profile does not allow.
fn outside(paths: &[String], allowed: &[String]) -> Vec<Violation> {
    let Ok(allowed_paths) = AllowedPaths::new(allowed) else { return Vec::new() };
    let mut violations = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let pointer = format!("/allowed_paths/{at}");
        if let Err(problem) = segments(path) {
            let message = format!("`allowed_paths.{at}`: the path {problem}.");
            violations.push(violation(&pointer, "path", json!({ "path": echo(path) }), message));
        } else if !allowed_paths.admits(path) {
            let message =
                format!("`allowed_paths.{at}` lies outside the paths that the site profile allows.");
            violations.push(violation(
                &pointer,
                "allowedPaths",
                json!({ "allowedValues": allowed }),
                message,
            ));
        }
    }
    violations
}

fn violation(pointer: &str, keyword: &str, params: Value, message: String) -> Violation {
    Violation {
        instance_path: pointer.to_owned(),
        schema_path: format!("#/properties{pointer}/{keyword}"),
        keyword: keyword.to_owned(),
        params,
        message,
        value: None,
    }
}

/// Returns `true` if a field of this name is reserved.
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
        || name.ends_with("_env")
        || name.ends_with("_token")
        || name.contains("endpoint")
}

/// A violation for each reserved field of a configuration, at any depth.
#[must_use]
pub fn reserved_fields(config: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    collect_reserved(config, "", RESERVED_DEPTH_MAX, &mut found);
    found
}

fn collect_reserved(value: &Value, pointer: &str, depth: usize, found: &mut Vec<Violation>) {
    if depth == 0 || found.len() >= RESERVED_LISTED_MAX {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if found.len() >= RESERVED_LISTED_MAX {
                    return;
                }
                if is_reserved(name) {
                    let name = echo(name);
                    let message = format!(
                        "`{name}` is reserved: a run names a site profile of the operator, and no address, token or command."
                    );
                    found.push(violation(pointer, "reserved", json!({ "reservedProperty": name }), message));
                } else {
                    collect_reserved(inner, &format!("{pointer}/{}", echo(name)), depth - 1, found);
                }
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                collect_reserved(inner, &format!("{pointer}/{at}"), depth - 1, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
