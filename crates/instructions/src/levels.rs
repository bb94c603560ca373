//! The audience of an instruction, and its level of obligation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whom an instruction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// A single person or agent.
    Individual,
    /// A team.
    Group,
    /// Everybody.
    All,
}

/// How binding an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Requirement {
    /// Must be followed.
    Mandatory,
    /// Must be followed; breaking it does harm.
    Critical,
    /// Should be followed.
    Recommended,
    /// May be followed.
    Optional,
    /// Replaced by the entry that `deprecatedBy` names.
    Deprecated,
}

impl Audience {
    /// Returns its name in entries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Individual => "individual",
            Self::Group => "group",
            Self::All => "all",
        }
    }

    /// Returns the audience with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Individual, Self::Group, Self::All].into_iter().find(|audience| audience.as_str() == text)
    }
}

impl Requirement {
    /// All levels.
    pub const ALL: [Self; 5] =
        [Self::Mandatory, Self::Critical, Self::Recommended, Self::Optional, Self::Deprecated];

    /// Returns its name in entries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mandatory => "mandatory",
            Self::Critical => "critical",
            Self::Recommended => "recommended",
            Self::Optional => "optional",
            Self::Deprecated => "deprecated",
        }
    }

    /// Returns the level with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|requirement| requirement.as_str() == text)
    }

    /// Returns the level's contribution to the risk score.
    pub(crate) fn risk(self) -> i32 {
        match self {
            Self::Mandatory => 50,
            Self::Critical => 60,
            Self::Recommended => 20,
            Self::Optional => 5,
            Self::Deprecated => -30,
        }
    }
}
