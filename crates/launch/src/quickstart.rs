//! The configuration of a run that is started from an address: values from the address and the repository, and defaults for the rest.

use std::collections::BTreeSet;

use contract::config::LaunchSite;
use contract::{ErrorCode, Fault, ProjectId};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::config::{CONFIG_SCHEMA_VERSION, LayoutMode, Platform, RunConfigInput, Section};
use crate::infer::Inference;
use crate::placement::is_named_after;
use crate::site_profiles::find_site;

/// Returns the site of a run: the one with this name or, without a name, the only one of the project.
///
/// # Errors
/// `INVALID_INPUT` with the names of the project's sites.
pub fn choose_site<'a>(
    sites: &'a [LaunchSite],
    project: &ProjectId,
    name: Option<&str>,
) -> Result<&'a LaunchSite, Fault> {
    if let Some(name) = name {
        return find_site(sites, project, name);
    }
    let own: Vec<&LaunchSite> = sites.iter().filter(|site| site.belongs_to(project.public())).collect();
    let names: Vec<&str> = own.iter().map(|site| site.name.as_str()).collect();
    match own.as_slice() {
        [only] => Ok(*only),
        several => {
            let (message, hint) = match several.is_empty() {
                true => (
                    "The project has no site profile.",
                    "The operator lists the sites of a project as [[launch.sites]] in the configuration.",
                ),
                false => (
                    "The project has several site profiles.",
                    "Name one of `available_profiles` as `site_profile`.",
                ),
            };
            Err(Fault::new(ErrorCode::InvalidInput, message)
                .with_details(json!({ "field": "site_profile", "available_profiles": names }))
                .with_hint(hint))
        }
    }
}

/// Returns the sections that the paths of a site are named after, or else `fallback`.
#[must_use]
pub fn sections_of_site(site: &LaunchSite, fallback: Section) -> BTreeSet<Section> {
    let has = |section: &Section| site.allowed_paths.iter().any(|path| is_named_after(path, *section));
    let named: BTreeSet<Section> = Section::ALL.into_iter().filter(has).collect();
    if named.is_empty() { BTreeSet::from([fallback]) } else { named }
}

/// The known facts about a product whose run is started from an address.
#[derive(Debug, Clone)]
pub struct KnownProduct {
    /// Its family, which also is its name in paths.
    pub family: String,
    /// Its name for people.
    pub product_name: String,
    /// Its platform.
    pub platform: Platform,
    /// The language of its pages.
    pub locale: String,
    /// The repository.
    pub repository: String,
    /// The commit of it.
    pub commit: String,
}

/// The configuration of a run about a product.
#[must_use]
pub fn derived_config(
    product: KnownProduct,
    site: &LaunchSite,
    sections: BTreeSet<Section>,
) -> RunConfigInput {
    RunConfigInput {
        schema_version: CONFIG_SCHEMA_VERSION.to_owned(),
        product_slug: product.family.clone(),
        product_name: product.product_name,
        family: Some(product.family),
        github_repo_url: product.repository,
        github_ref: Some(product.commit),
        target_platform: Some(product.platform),
        locales: Some(vec![product.locale]),
        required_sections: sections,
        site_profile: site.name.clone(),
        allowed_paths: None,
        layout_mode: Some(LayoutMode::Auto),
        launch_tier: None,
        validation_profile: None,
        allow_inference: Some(false),
        max_fix_attempts: None,
        budgets: None,
    }
}

/// Returns the family and the platform of a repository.
///
/// # Errors
/// `INVALID_INPUT` with `missing_fields` and `suggested_values` if they are not clear.
pub fn require_decided(inference: &Inference) -> Result<(String, Platform), Fault> {
    match (inference.family.decided(), inference.platform.decided()) {
        (Some(family), Some(platform)) => Ok((family.clone(), *platform)),
        (family, platform) => {
            let mut missing = Vec::new();
            if family.is_none() {
                missing.push(("family", strings(&inference.family.suggestions())));
            }
            if platform.is_none() {
                missing.push(("target_platform", strings(&inference.platform.suggestions())));
            }
            Err(missing_fields("The repository does not say clearly what it is for.", missing))
        }
    }
}

/// Returns the fault of an address that leaves some fields of a configuration open, with suggestions for them.
#[must_use]
pub fn missing_fields(message: &str, missing: Vec<(&str, Vec<Value>)>) -> Fault {
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let suggested: Map<String, Value> = missing
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| ((*name).to_owned(), Value::Array(values.clone())))
        .collect();
    Fault::new(ErrorCode::InvalidInput, message)
        .with_details(json!({ "missing_fields": names, "suggested_values": suggested }))
        .with_hint("Start the run with `launch_start_run` and a configuration that has these fields.")
}

fn strings<T: Serialize>(values: &[T]) -> Vec<Value> {
    values.iter().filter_map(|value| serde_json::to_value(value).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{Metadata, infer};

    fn site(name: &str, allowed_paths: &[&str]) -> LaunchSite {
        let text = json!({
            "name": name, "project": "shop", "repository": "/srv/git/site.git", "allowed_paths": allowed_paths, "forge": "local",
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn the_only_site_of_a_project_needs_no_name() {
        let shop = ProjectId::parse("shop").unwrap();
        let one = [site("docs", &["content"])];
        assert_eq!(choose_site(&one, &shop, None).unwrap().name, "docs");
        assert_eq!(choose_site(&one, &shop, Some("docs")).unwrap().name, "docs");
        assert!(choose_site(&one, &shop, Some("kb")).is_err());
        let two = [site("docs", &["content"]), site("kb", &["content"])];
        let fault = choose_site(&two, &shop, None).unwrap_err();
        assert_eq!(fault.details.unwrap()["available_profiles"], json!(["docs", "kb"]));
        assert_eq!(choose_site(&two, &shop, Some("kb")).unwrap().name, "kb");
        let fault = choose_site(&two, &ProjectId::default_workspace(), None).unwrap_err();
        assert_eq!(fault.details.unwrap()["available_profiles"], json!([]), "sites of others are not named");
    }

    #[test]
    fn sections_are_those_of_the_site() {
        let sections = |paths: &[&str]| sections_of_site(&site("docs", paths), Section::Products);
        let named = sections(&["content/docs.example.com", "content/kb/shop"]);
        assert_eq!(named, BTreeSet::from([Section::Docs, Section::Kb]));
        assert_eq!(sections(&["content/pages"]), BTreeSet::from([Section::Products]));
    }

    #[test]
    fn missing_fields_come_with_what_they_might_be() {
        let metadata = |name: &str| Metadata { name: name.to_owned(), ..Metadata::default() };
        let decided = require_decided(&infer(&metadata("Till-for-Java"))).unwrap();
        assert_eq!(decided, ("till".to_owned(), Platform::Java));
        let details = |name: &str| require_decided(&infer(&metadata(name))).unwrap_err().details.unwrap();
        assert_eq!(
            details("till-python"),
            json!({
                "missing_fields": ["family", "target_platform"],
                "suggested_values": { "family": ["till"], "target_platform": ["python"] },
            })
        );
        assert_eq!(details("till")["suggested_values"], json!({ "family": ["till"] }));
    }

    #[test]
    fn a_derived_configuration_is_complete() {
        let product = KnownProduct {
            family: "till".to_owned(),
            product_name: "Till".to_owned(),
            platform: Platform::Java,
            locale: "en".to_owned(),
            repository: "https://github.com/acme/till".to_owned(),
            commit: "a".repeat(40),
        };
        let config = derived_config(product, &site("docs", &["content"]), BTreeSet::from([Section::Docs]));
        assert_eq!((config.product_slug.as_str(), config.family.as_deref()), ("till", Some("till")));
        assert_eq!((config.site_profile.as_str(), config.allow_inference), ("docs", Some(false)));
    }
}
