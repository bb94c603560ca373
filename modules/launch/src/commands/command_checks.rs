//! Checks of site commands by `doctor`: the protections that this machine gives them, and missing ones that they need.

use gate::app::App;
use platform::process::confined::{Protection, missing, protections};
use surfaces::cli::shell::DoctorCheck;

/// Reports the protections, if launch runs are enabled. A missing protection is a fault only if a site has commands that need it.
pub(super) fn check_commands(app: &App) -> Option<DoctorCheck> {
    let settings = &app.config.launch;
    let has_commands = settings.sites.iter().any(|site| !site.checks.is_empty());
    settings.enabled.then(|| protections_check(&protections(), &settings.sandbox_require, has_commands))
}

fn protections_check(given: &[Protection], required: &[String], has_commands: bool) -> DoctorCheck {
    let names: Vec<&str> = given.iter().map(|protection| protection.as_str()).collect();
    let given_names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let missing = missing(required, given).join(", ");
    let ok = missing.is_empty() || !has_commands;
    let lack = match missing.is_empty() {
        true => String::new(),
        false => format!("; launch.sandbox_require also demands {missing}, so no command of a site runs"),
    };
    DoctorCheck {
        name: "commands of sites".to_owned(),
        ok,
        message: format!("protections on this machine: {given_names}{lack}"),
        remedy: (!ok).then(|| {
            "Use a kernel with Landlock and seccomp, or leave the protection out of launch.sandbox_require."
                .to_owned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_protection_is_a_fault_where_a_command_needs_it() {
        let required: Vec<String> = Protection::ALL.iter().map(ToString::to_string).collect();
        let all = protections_check(&Protection::ALL, &required, true);
        assert!(all.ok && all.message.ends_with("limits, landlock, no_network"), "{all:?}");
        let given = [Protection::Limits];
        let lacking = protections_check(&given, &required, true);
        assert!(!lacking.ok && lacking.remedy.is_some(), "{lacking:?}");
        assert!(lacking.message.contains("demands landlock, no_network"), "{lacking:?}");
        assert!(protections_check(&given, &required, false).ok, "nothing needs them");
        assert!(protections_check(&[], &[], true).message.contains("none"));
    }
}
