//! Where findings come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// GitHub Dependabot alerts.
    Dependabot,
    /// AWS Inspector findings.
    #[serde(alias = "aws-inspector", alias = "inspector", alias = "aws")]
    AwsInspector,
    /// SARIF 2.1.0 logs.
    Sarif,
    /// Findings in the form of records.
    Generic,
    /// The same, written by people.
    Manual,
}

impl Source {
    /// As it is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependabot => "dependabot",
            Self::AwsInspector => "aws_inspector",
            Self::Sarif => "sarif",
            Self::Generic => "generic",
            Self::Manual => "manual",
        }
    }

    /// Every name that a caller may use.
    pub const NAMES: &'static [&'static str] =
        &["dependabot", "aws_inspector", "sarif", "generic", "manual", "aws-inspector", "inspector", "aws"];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_means_a_source() {
        for name in Source::NAMES {
            let source: Source = serde_json::from_value((*name).into()).unwrap();
            let aws = ["aws", "inspector"].iter().any(|part| name.contains(part));
            assert_eq!(source.as_str() == "aws_inspector", aws, "{name}");
            assert!(aws || source.as_str() == *name);
        }
        assert!(serde_json::from_value::<Source>("snyk".into()).is_err());
    }
}
