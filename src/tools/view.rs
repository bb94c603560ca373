//! Which tools a caller sees: the operator's choice, narrowed by the request, never widened.

use super::spec::{ToolSpec, Toolset};
use contract::{ErrorCode, Fault, echo};

/// In place of families: all of them.
pub const EVERY_TOOLSET: &str = "all";

/// A narrowing of the tool list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Only tools of these families; None: all.
    toolsets: Option<Vec<Toolset>>,
    /// Only tools that change nothing.
    read_only: bool,
}

impl View {
    /// Only tools of the families named, comma separated; an empty text and `all` narrow nothing.
    ///
    /// # Errors
    /// `INVALID_REQUEST` names the families there are.
    pub fn of(toolsets: &str, read_only: bool) -> Result<Self, Fault> {
        let mut named: Vec<&str> =
            toolsets.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if named == [EVERY_TOOLSET] {
            named.clear();
        }
        let toolsets = named.iter().map(|name| toolset(name)).collect::<Result<Vec<_>, _>>()?;
        let toolsets = (!toolsets.is_empty()).then_some(toolsets);
        Ok(Self { toolsets, read_only })
    }

    /// What both allow.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let toolsets = match (&self.toolsets, &other.toolsets) {
            (Some(ours), Some(theirs)) => {
                Some(ours.iter().copied().filter(|toolset| theirs.contains(toolset)).collect())
            }
            (ours, theirs) => ours.clone().or_else(|| theirs.clone()),
        };
        Self { toolsets, read_only: self.read_only || other.read_only }
    }

    /// Whether the list is narrowed to some families; older names of tools are then called, but not listed.
    pub(super) fn is_narrowed(&self) -> bool {
        let lacks = |shown: &Vec<Toolset>| Toolset::ALL.iter().any(|toolset| !shown.contains(toolset));
        self.toolsets.as_ref().is_some_and(lacks)
    }

    /// Why a tool is switched off, if it is.
    pub(super) fn refuses(&self, tool: &ToolSpec) -> Option<String> {
        if self.read_only && !tool.effects.read_only {
            return Some(format!("`{}` writes, and this connection is read-only.", tool.name));
        }
        match &self.toolsets {
            Some(shown) if !shown.contains(&tool.toolset) => Some(format!(
                "`{}` belongs to the toolset `{}`, which is switched off here.",
                tool.name,
                tool.toolset.as_str()
            )),
            _ => None,
        }
    }
}

fn toolset(name: &str) -> Result<Toolset, Fault> {
    Toolset::ALL.into_iter().find(|toolset| toolset.as_str() == name).ok_or_else(|| {
        let known: Vec<&str> = Toolset::ALL.iter().map(|toolset| toolset.as_str()).collect();
        Fault::new(ErrorCode::InvalidRequest, format!("There is no toolset `{}`.", echo(name)))
            .with_hint(format!("The toolsets are: {}.", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::find;

    #[test]
    fn a_request_narrows_and_never_widens() {
        let operator = View::of("search", true).unwrap();
        let request = View::of("search,index", false).unwrap();
        let both = operator.narrowed(&request);
        assert_eq!(both, operator);
        let index = find("build_index").unwrap();
        assert!(both.refuses(index).is_some());
        assert!(both.refuses(find("search").unwrap()).is_none());
        assert!(View::default().refuses(index).is_none());
        let nothing = operator.narrowed(&View::of("index", false).unwrap());
        assert!(nothing.refuses(find("search").unwrap()).is_some());
    }

    #[test]
    fn unknown_families_are_named() {
        let fault = View::of("serch", false).unwrap_err();
        assert!(fault.hint.unwrap().contains("search, index"));
        assert_eq!(View::of(" , ", false).unwrap(), View::default());
        assert_eq!(View::of("all", false).unwrap(), View::default());
        assert!(View::of("search,all", false).is_err());
    }
}
