//! Static checks of the systemd unit, the Dockerfile and the compose file.

use serde_json::Value;

use super::{assert_accepted, strings, text, yaml};

/// The directives of systemd.unit, systemd.service, systemd.exec, systemd.kill and systemd.resource-control that the unit may
/// use, by section.
const DIRECTIVES: &[(&str, &[&str])] = &[
    ("Unit", &["Description", "Documentation", "After", "Wants"]),
    (
        "Service",
        &[
            "Type", "User", "Group", "StateDirectory", "StateDirectoryMode", "ConfigurationDirectory",
            "Environment", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "KillMode",
            "TimeoutStopSec", "MemoryMax", "TasksMax", "LimitNOFILE", "ProtectSystem", "ProtectHome",
            "PrivateTmp", "PrivateDevices", "ProtectKernelTunables", "ProtectKernelModules",
            "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectHostname",
            "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "RestrictAddressFamilies",
            "LockPersonality", "NoNewPrivileges", "CapabilityBoundingSet", "AmbientCapabilities",
            "SystemCallArchitectures", "SystemCallFilter", "UMask",
        ],
    ),
    ("Install", &["WantedBy"]),
];

#[test]
fn the_unit_starts_the_program_and_protects_the_machine() {
    let unit = text("deploy/pairofcleats.service");
    let (mut section, mut seen) = (String::new(), Vec::new());
    for line in unit.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').to_owned();
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or_else(|| panic!("not a directive: {line}"));
        let known = DIRECTIVES.iter().find(|(title, _)| *title == section).map(|(_, names)| *names);
        assert!(known.is_some_and(|names| names.contains(&name)), "[{section}] {name}");
        seen.push((name, value));
    }
    let values = |name: &str| -> Vec<&str> {
        seen.iter().filter(|(directive, _)| *directive == name).map(|(_, value)| *value).collect()
    };
    let start: Vec<String> = values("ExecStart")[0].split(' ').map(str::to_owned).collect();
    assert_eq!(start[0], "/usr/local/bin/pairofcleats");
    assert_accepted(&start[1..]);
    for hard in ["NoNewPrivileges", "PrivateTmp", "ProtectKernelTunables", "RestrictSUIDSGID"] {
        assert_eq!(values(hard), ["yes"], "{hard}");
    }
    assert_eq!(values("ProtectSystem"), ["strict"]);
    assert_eq!(values("CapabilityBoundingSet"), [""]);
    let home = format!("PAIROFCLEATS_HOME=/var/lib/{}", values("StateDirectory")[0]);
    assert!(values("Environment").contains(&home.as_str()), "the home is the state directory");
}

/// The instructions of the Dockerfile, by stage, with continued lines joined.
fn stages() -> Vec<Vec<(String, String)>> {
    let file = text("Dockerfile").replace("\\\n", " ");
    let lines = file.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut stages: Vec<Vec<(String, String)>> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "FROM" {
            stages.push(Vec::new());
        }
        stages.last_mut().unwrap().push((word.to_owned(), rest.to_owned()));
    }
    stages
}

#[test]
fn the_image_is_pinned_and_runs_without_privileges() {
    let stages = stages();
    for stage in &stages {
        let base = stage[0].1.split(' ').next().unwrap();
        let is_own_stage = stages.iter().any(|stage| stage[0].1.ends_with(&format!(" AS {base}")));
        assert!(is_own_stage || base.contains(':') && !base.ends_with(":latest"), "{base} is not pinned");
    }
    let last = stages.last().unwrap();
    let all = |word: &str| {
        last.iter()
            .filter(|(instruction, _)| instruction == word)
            .map(|(_, rest)| rest.clone())
            .collect::<Vec<_>>()
    };
    let list =
        |text: &str| strings(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")));
    assert_eq!(all("USER"), ["10001:10001"]);
    assert_eq!(list(&all("ENTRYPOINT")[0]), ["pairofcleats"]);
    assert_accepted(&list(&all("CMD")[0]));
    let check = all("HEALTHCHECK")[0].split_once("CMD ").unwrap().1.to_owned();
    assert_accepted(&list(&check)[1..]);
    let bootstrap = &stages[1].iter().find(|(_, rest)| rest.contains("bootstrap")).unwrap().1;
    let command = bootstrap.split("release/pairofcleats ").nth(1).unwrap().split(" ||").next().unwrap();
    for variant in ["int8", "fp32"] {
        assert_accepted(
            &command.replace("$variant", variant).split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        );
        assert!(bootstrap.contains(variant), "{bootstrap}");
    }
    let ignored = text(".dockerignore");
    for needed in [
        "Cargo.toml", "Cargo.lock", "src", "crates", "modules", "migrations", "models", "benches",
        "tests/it/main.rs",
    ] {
        assert!(ignored.lines().any(|line| line == format!("!{needed}")), "the build needs {needed}");
        assert!(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(needed).exists(), "{needed}");
    }
    assert_eq!(
        ignored.lines().find(|line| !line.starts_with('#')),
        Some("*"),
        "nothing else goes to the builder"
    );
}

#[test]
fn the_compose_file_follows_the_specification() {
    let schema = std::fs::read_to_string(crate::clients::compose_schema()).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let check =
        |file: &Value| -> Vec<String> { schema.iter_errors(file).map(|error| error.to_string()).collect() };
    let mut file = yaml("docker-compose.yml");
    assert_eq!(check(&file), Vec::<String>::new());
    file["services"]["server"]["memory_limit"] = "2g".into();
    assert_eq!(check(&file).len(), 1, "the schema rejects an unknown field");
}

#[test]
fn the_compose_file_exposes_only_what_is_needed() {
    let file = yaml("docker-compose.yml");
    let services = file["services"].as_object().unwrap();
    assert_eq!(services.keys().collect::<Vec<_>>(), ["password", "database", "server"]);
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(strings(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(strings(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        assert!(service["mem_limit"].is_string() && service["cpus"].is_number(), "{name} has no limits");
        assert!(service["image"].as_str().unwrap().contains(':'), "{name} is not pinned");
    }
    let (database, server) = (&services["database"], &services["server"]);
    assert!(database.get("ports").is_none(), "no database port on the host");
    assert_eq!(strings(&database["networks"]), ["inside"]);
    assert_eq!(file["networks"]["inside"]["internal"], true);
    assert!(
        strings(&server["ports"]).iter().all(|port| port.starts_with("127.0.0.1:")),
        "reachable from this machine only"
    );
    assert!(strings(&server["volumes"]).iter().any(|volume| volume.ends_with(":/repositories:ro")));
    assert_eq!(
        strings(&database["volumes"])[0],
        "database:/var/lib/postgresql",
        "where version 18 keeps its data"
    );
    assert_eq!(server["depends_on"]["database"]["condition"], "service_healthy");
    assert_accepted(&strings(&server["healthcheck"]["test"])[2..]);
    assert_accepted(&strings(&server["command"]));
    let all = text("docker-compose.yml");
    assert!(!all.contains("POSTGRES_PASSWORD:"), "the file contains no password");
    for command in all.lines().filter_map(|line| line.split("run --rm server ").nth(1)) {
        assert_accepted(&command.split(' ').map(str::to_owned).collect::<Vec<_>>());
    }
}
