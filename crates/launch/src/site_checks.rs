//! The operator's permissions for validations of a site beyond the gates: commands that run, and hosts that are requested. They are checked
//! when the server starts; a missing command is only noticed when it runs.

use std::collections::BTreeSet;

use contract::config::{CheckCommand, LaunchSite};
use contract::echo;

use crate::external_hosts::ExternalHosts;

/// Maximum number of commands of a site.
const CHECKS_MAX: usize = 16;
/// Maximum number of hosts of a site.
const HOSTS_MAX: usize = 32;
/// Longest name of a command.
const NAME_CHARS_MAX: usize = 64;
/// Longest time of a command, in milliseconds: one hour.
const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// Smallest address space of a command: the process that starts it has the same limit.
const MEMORY_BYTES_MIN: u64 = 1 << 30;

/// Returns the problem with the commands and hosts of a site; completes "the site: ".
pub(crate) fn problem_of(site: &LaunchSite) -> Option<String> {
    if site.checks.len() > CHECKS_MAX {
        return Some(format!("it has more than {CHECKS_MAX} checks"));
    }
    let mut names = BTreeSet::new();
    for check in &site.checks {
        let problem = if names.insert(&check.name) {
            problem_of_check(check)
        } else {
            Some("there is another check of this name")
        };
        if let Some(problem) = problem {
            return Some(format!("the check `{}`: {problem}", echo(&check.name)));
        }
    }
    if site.external_hosts.len() > HOSTS_MAX {
        return Some(format!("it has more than {HOSTS_MAX} external_hosts"));
    }
    let wrong = ExternalHosts::parse(&site.external_hosts).err()?;
    Some(format!("`{}` of external_hosts is neither a host nor a host with a port", echo(&wrong)))
}

fn problem_of_check(check: &CheckCommand) -> Option<&'static str> {
    let is_name_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    let has_name = (1..=NAME_CHARS_MAX).contains(&check.name.len()) && check.name.bytes().all(is_name_byte);
    if !has_name {
        return Some("its name must have 1 to 64 lower-case letters, digits, `_` and `-`");
    }
    let Some(program) = check.argv.first() else {
        return Some("its argv is empty");
    };
    if program.is_empty() || (program.contains('/') && !program.starts_with('/')) {
        return Some("its program must be an absolute path or the name of a program");
    }
    if check.argv.iter().any(|argument| argument.contains('\0')) {
        return Some("its argv has a NUL character");
    }
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\']);
    if check.output.as_deref().is_some_and(|output| output != "." && !output.split('/').all(is_plain)) {
        return Some("its output must be a folder of the site, or `.`");
    }
    if !(1..=TIMEOUT_MS_MAX).contains(&check.timeout_ms) {
        return Some("its timeout_ms must be between 1 and 3600000");
    }
    (check.memory_bytes_max < MEMORY_BYTES_MIN).then_some("its memory_bytes_max must be 1073741824 or more")
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::config::LOCAL_FORGE;

    fn check(name: &str) -> CheckCommand {
        CheckCommand {
            name: name.to_owned(),
            argv: vec!["hugo".to_owned(), "--minify".to_owned()],
            required: true,
            output: Some("public/site".to_owned()),
            timeout_ms: 1000,
            memory_bytes_max: 4 << 30,
        }
    }

    fn site() -> LaunchSite {
        LaunchSite {
            name: "docs".to_owned(),
            project: None,
            repository: "/srv/git/site.git".to_owned(),
            base: "main".to_owned(),
            allowed_paths: vec!["content".to_owned()],
            forge: LOCAL_FORGE.to_owned(),
            repo: None,
            checks: vec![check("site_build"), check("spelling-2")],
            external_hosts: vec!["docs.example.com".to_owned(), "localhost:8080".to_owned()],
            watch: false,
        }
    }

    #[test]
    fn checks_and_hosts_that_cannot_be_used_are_refused() {
        assert_eq!(problem_of(&site()), None);
        let wrong: [fn(&mut LaunchSite); 14] = [
            |site| site.checks[1].name = "site_build".to_owned(),
            |site| site.checks[0].name = "Site build".to_owned(),
            |site| site.checks[0].name.clear(),
            |site| site.checks[0].argv.clear(),
            |site| site.checks[0].argv[0] = "./hugo".to_owned(),
            |site| site.checks[0].argv[1] = "a\0b".to_owned(),
            |site| site.checks[0].output = Some("../up".to_owned()),
            |site| site.checks[0].output = Some("/srv".to_owned()),
            |site| site.checks[0].output = Some(String::new()),
            |site| site.checks[0].timeout_ms = 0,
            |site| site.checks[0].memory_bytes_max = 1 << 20,
            |site| site.checks = (0..17).map(|number| check(&format!("c{number}"))).collect(),
            |site| site.external_hosts.push("https://docs.example.com".to_owned()),
            |site| site.external_hosts = vec!["a".to_owned(); 33],
        ];
        for (number, change) in wrong.into_iter().enumerate() {
            let mut changed = site();
            change(&mut changed);
            assert!(problem_of(&changed).is_some(), "change {number}");
        }
        let mut whole = site();
        (whole.checks[0].output, whole.checks[1].output) = (Some(".".to_owned()), None);
        whole.checks[1].argv[0] = "/opt/spell".to_owned();
        assert_eq!(problem_of(&whole), None);
    }
}
