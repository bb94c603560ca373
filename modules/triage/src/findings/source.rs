//! The formats of reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingSource {
    /// GitHub Dependabot alerts.
    Dependabot,
    /// AWS Inspector findings.
    #[serde(alias = "aws-inspector", alias = "inspector", alias = "aws")]
    AwsInspector,
    /// SARIF 2.1.0 logs.
    Sarif,
    /// `semgrep --json`.
    Semgrep,
    /// `trivy --format json`.
    Trivy,
    /// `grype -o json`.
    Grype,
    /// `gitleaks --report-format json`.
    Gitleaks,
    /// `snyk test --json`.
    Snyk,
    /// `eslint --format json`.
    Eslint,
    /// `checkov -o json`.
    Checkov,
    /// `bandit -f json`.
    Bandit,
    /// `npm audit --json`.
    #[serde(alias = "npm-audit")]
    NpmAudit,
    /// JSON with the structure of records.
    Generic,
    /// As `Generic`, but written by people.
    Manual,
}

impl FindingSource {
    /// Returns the name of the source in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependabot => "dependabot",
            Self::AwsInspector => "aws_inspector",
            Self::Sarif => "sarif",
            Self::Semgrep => "semgrep",
            Self::Trivy => "trivy",
            Self::Grype => "grype",
            Self::Gitleaks => "gitleaks",
            Self::Snyk => "snyk",
            Self::Eslint => "eslint",
            Self::Checkov => "checkov",
            Self::Bandit => "bandit",
            Self::NpmAudit => "npm_audit",
            Self::Generic => "generic",
            Self::Manual => "manual",
        }
    }

    /// All names that callers may use, aliases included.
    pub const NAMES: &'static [&'static str] = &[
        "dependabot", "aws_inspector", "sarif", "generic", "manual", "aws-inspector", "inspector", "aws",
        "semgrep", "trivy", "grype", "gitleaks", "snyk", "eslint", "checkov", "bandit", "npm_audit",
        "npm-audit",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_means_a_source() {
        for name in FindingSource::NAMES {
            let source: FindingSource = serde_json::from_value((*name).into()).unwrap();
            let aws = ["aws", "inspector"].iter().any(|part| name.contains(part));
            assert_eq!(source.as_str() == "aws_inspector", aws, "{name}");
            assert!(aws || source.as_str() == name.replace('-', "_"));
        }
        assert!(serde_json::from_value::<FindingSource>("nessus".into()).is_err());
    }
}
