//! Selection of the tools that a caller may call and see: the operator's, which a request can narrow but never widen.

use super::toolset::Toolset;
use crate::module::Modules;
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
    /// Parses a list of toolsets of these modules, separated by commas; an empty list means no selection.
    ///
    /// # Errors
    /// `INVALID_REQUEST` with the names of all toolsets.
    pub fn parse(modules: &Modules, toolsets: &str, read_only: bool) -> Result<Self, Fault> {
        let named: Vec<&str> = toolsets.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let toolsets = match named[..] {
            [] => None,
            _ => {
                let known = modules.toolsets();
                let named = named.iter().map(|name| toolsets_named(&known, name));
                Some(named.collect::<Result<Vec<_>, _>>()?.concat())
            }
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

    /// Returns `true` if lists show fewer of the known toolsets than by default.
    pub(super) fn is_narrowed(&self, known: &[Toolset]) -> bool {
        let lacks = |named: &Vec<Toolset>| listed_by_default(known).any(|toolset| !named.contains(&toolset));
        self.toolsets.as_ref().is_some_and(lacks)
    }

    /// Returns `true` if lists show a toolset: one that is selected or, if none is selected, one that is listed by default.
    pub(super) fn lists(&self, toolset: Toolset) -> bool {
        self.toolsets.as_ref().map_or(toolset.listed_by_default(), |named| named.contains(&toolset))
    }
}

fn listed_by_default(known: &[Toolset]) -> impl Iterator<Item = Toolset> {
    known.iter().copied().filter(|toolset| toolset.listed_by_default())
}

/// The known toolsets that a name selects.
fn toolsets_named(known: &[Toolset], name: &str) -> Result<Vec<Toolset>, Fault> {
    match name {
        EVERY_TOOLSET => return Ok(known.to_vec()),
        DEFAULT_TOOLSETS => return Ok(listed_by_default(known).collect()),
        _ => {}
    }
    let found = known.iter().find(|toolset| toolset.name == name);
    found.map(|toolset| vec![*toolset]).ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|toolset| toolset.name).collect();
        Fault::new(ErrorCode::InvalidRequest, format!("Unknown toolset `{}`.", echo(name)))
            .with_hint(format!("The toolsets are: {}; `all` and `default` name several.", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use crate::tools::{Effects, ToolSpec};

    static READ: ToolSpec = ToolSpec { toolset: Toolset::SEARCH, ..ToolSpec::BASE };
    static WRITE: ToolSpec = ToolSpec { toolset: Toolset::INDEX, effects: Effects::WRITES, ..ToolSpec::BASE };
    static EXTRA: ToolSpec = ToolSpec { toolset: Toolset::opt_in("extra", |_| true), ..ToolSpec::BASE };
    static MODULE: Module =
        Module { toolsets: &[Toolset::SEARCH, Toolset::INDEX, EXTRA.toolset], ..Module::EMPTY };

    fn parse(toolsets: &str, read_only: bool) -> Result<ToolVisibility, Fault> {
        ToolVisibility::parse(&Modules::new(vec![&MODULE]), toolsets, read_only)
    }

    #[test]
    fn a_request_narrows_and_never_widens() {
        let operator = parse("search", true).unwrap();
        let request = parse("search,index", false).unwrap();
        let both = operator.intersect(&request);
        assert_eq!(both, operator);
        assert!(both.refusal_reason(&WRITE).is_some());
        assert!(both.refusal_reason(&READ).is_none());
        assert!(ToolVisibility::default().refusal_reason(&WRITE).is_none());
        let nothing = operator.intersect(&parse("index", false).unwrap());
        assert!(nothing.refusal_reason(&READ).is_some());
    }

    #[test]
    fn unknown_toolsets_are_refused_with_the_known_ones() {
        let fault = parse("serch", false).unwrap_err();
        assert!(fault.hint.unwrap().contains("search, index"));
        assert_eq!(parse(" , ", false).unwrap(), ToolVisibility::default());
        assert!(parse("all,serch", false).is_err());
    }

    #[test]
    fn opt_in_toolsets_are_listed_only_if_selected() {
        let visibility = |text: &str| parse(text, false).unwrap();
        for (text, listed, opted_in, callable) in [
            ("", true, false, true),
            ("all", true, true, true),
            ("all,extra", true, true, true),
            ("search, all", true, true, true),
            ("default", true, false, false),
            ("extra", false, true, true),
            ("search,extra", true, true, true),
            ("search", true, false, false),
        ] {
            let visibility = visibility(text);
            assert_eq!(visibility.lists(READ.toolset), listed, "{text}");
            assert_eq!(visibility.lists(EXTRA.toolset), opted_in, "{text}");
            assert_eq!(visibility.refusal_reason(&EXTRA).is_none(), callable, "{text}");
        }
        let both = |one: &str, two: &str| visibility(one).intersect(&visibility(two));
        assert!(both("", "extra").lists(EXTRA.toolset), "a request may select an opt-in toolset");
        assert!(!both("search", "all").lists(EXTRA.toolset), "but not beyond the operator's selection");
        assert_eq!(both("all", "search"), visibility("search"));
        let known = Modules::new(vec![&MODULE]).toolsets();
        let is_narrowed = |text: &str| visibility(text).is_narrowed(&known);
        assert!(!is_narrowed("all") && !is_narrowed("default") && is_narrowed("search"));
    }
}
