//! Selection of the tools that a caller may call and see: the operator's, which a request can narrow but never widen.

use super::toolset::Toolset;
use contract::{ErrorCode, Fault, echo};

/// Name that selects all toolsets, including those that are not listed by default; other names in addition have no effect.
pub const EVERY_TOOLSET: &str = "all";
/// Name that selects the toolsets that are listed by default; can be combined with others.
pub const DEFAULT_TOOLSETS: &str = "default";

/// A selection of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolVisibility {
    /// Only tools of these toolsets. `None`: all toolsets can be called, and lists show the default ones.
    pub(super) toolsets: Option<Vec<Toolset>>,
    /// Only tools that do not change anything.
    pub(super) read_only: bool,
}

impl ToolVisibility {
    /// Parses a list of toolsets, separated by commas; an empty list means no selection.
    ///
    /// # Errors
    /// `INVALID_REQUEST` with the names of all toolsets.
    pub fn parse(toolsets: &str, read_only: bool) -> Result<Self, Fault> {
        let named: Vec<&str> = toolsets.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let toolsets = match named[..] {
            [] => None,
            _ => Some(named.iter().map(|name| toolsets_named(name)).collect::<Result<Vec<_>, _>>()?.concat()),
        };
        Ok(Self { toolsets, read_only })
    }

    /// The tools that both selections contain.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let toolsets = match (&self.toolsets, &other.toolsets) {
            (Some(ours), Some(theirs)) => {
                Some(ours.iter().copied().filter(|toolset| theirs.contains(toolset)).collect())
            }
            (ours, theirs) => ours.clone().or_else(|| theirs.clone()),
        };
        Self { toolsets, read_only: self.read_only || other.read_only }
    }

    /// Returns `true` if lists show fewer toolsets than by default.
    pub(super) fn is_narrowed(&self) -> bool {
        let lacks = |named: &Vec<Toolset>| listed_by_default().any(|toolset| !named.contains(&toolset));
        self.toolsets.as_ref().is_some_and(lacks)
    }

    /// Returns `true` if lists show a toolset: one that is selected or, if none is selected, one that is listed `by_default`.
    pub(super) fn lists(&self, toolset: Toolset, by_default: bool) -> bool {
        self.toolsets.as_ref().map_or(by_default, |named| named.contains(&toolset))
    }
}

fn listed_by_default() -> impl Iterator<Item = Toolset> {
    Toolset::ALL.into_iter().filter(|toolset| toolset.listed_by_default())
}

/// The toolsets that a name selects.
fn toolsets_named(name: &str) -> Result<Vec<Toolset>, Fault> {
    match name {
        EVERY_TOOLSET => return Ok(Toolset::ALL.to_vec()),
        DEFAULT_TOOLSETS => return Ok(listed_by_default().collect()),
        _ => {}
    }
    let known = Toolset::ALL.into_iter().find(|toolset| toolset.as_str() == name);
    known.map(|toolset| vec![toolset]).ok_or_else(|| {
        let known: Vec<&str> = Toolset::ALL.iter().map(|toolset| toolset.as_str()).collect();
        Fault::new(ErrorCode::InvalidRequest, format!("Unknown toolset `{}`.", echo(name)))
            .with_hint(format!("The toolsets are: {}; `all` and `default` name several.", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::find_tool;

    #[test]
    fn a_request_narrows_and_never_widens() {
        let operator = ToolVisibility::parse("search", true).unwrap();
        let request = ToolVisibility::parse("search,index", false).unwrap();
        let both = operator.intersect(&request);
        assert_eq!(both, operator);
        let index = find_tool("build_index").unwrap();
        assert!(both.refusal_reason(index).is_some());
        assert!(both.refusal_reason(find_tool("search").unwrap()).is_none());
        assert!(ToolVisibility::default().refusal_reason(index).is_none());
        let nothing = operator.intersect(&ToolVisibility::parse("index", false).unwrap());
        assert!(nothing.refusal_reason(find_tool("search").unwrap()).is_some());
    }

    #[test]
    fn unknown_toolsets_are_refused_with_the_known_ones() {
        let fault = ToolVisibility::parse("serch", false).unwrap_err();
        assert!(fault.hint.unwrap().contains("search, index"));
        assert_eq!(ToolVisibility::parse(" , ", false).unwrap(), ToolVisibility::default());
        assert!(ToolVisibility::parse("all,serch", false).is_err());
    }

    #[test]
    fn opt_in_toolsets_are_listed_only_if_selected() {
        let called = |visibility: &ToolVisibility| {
            visibility.refusal_reason(find_tool("triage_ingest").unwrap()).is_none()
        };
        let visibility = |text: &str| ToolVisibility::parse(text, false).unwrap();
        // As if triage were opt-in: if it is not selected, it can be called, but is not listed.
        for (text, listed, opted_in, callable) in [
            ("", true, false, true),
            ("all", true, true, true),
            ("all,launch", true, true, true),
            ("search, all", true, true, true),
            ("default", true, true, true),
            ("triage", false, true, true),
            ("search,triage", true, true, true),
            ("search", true, false, false),
        ] {
            let visibility = visibility(text);
            assert_eq!(visibility.lists(Toolset::Search, true), listed, "{text}");
            assert_eq!(visibility.lists(Toolset::Triage, false), opted_in, "{text}");
            assert_eq!(called(&visibility), callable, "{text}");
        }
        let both = |one: &str, two: &str| visibility(one).intersect(&visibility(two));
        assert!(both("", "triage").lists(Toolset::Triage, false), "a request may select an opt-in toolset");
        assert!(
            !both("search", "all").lists(Toolset::Triage, false),
            "but not beyond the operator's selection"
        );
        assert_eq!(both("all", "search"), visibility("search"));
        assert!(
            !visibility("all").is_narrowed()
                && !visibility("default").is_narrowed()
                && visibility("search").is_narrowed()
        );
    }
}
