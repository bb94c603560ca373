//! The parts of confined commands that start no process. `tests/it/launch/checks.rs` runs hostile commands.

use super::supervisor::parent_in_stat;
use super::*;

fn output(ending: Ending, text: &str) -> ConfinedOutput {
    ConfinedOutput { ending, output: text.as_bytes().to_vec() }
}

fn command(program: &str) -> ConfinedCommand {
    ConfinedCommand {
        argv: vec![program.to_owned(), "--all".to_owned()],
        folder: "/srv/copy/site".into(),
        output: Some("/srv/copy/site/public".into()),
        temporary: "/srv/copy/temporary".into(),
        timeout: Duration::from_secs(3),
        memory_bytes_max: 1 << 30,
        require: vec!["limits".to_owned()],
    }
}

#[test]
fn a_protection_that_is_absent_or_unknown_is_missing() {
    let required = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = required(&["limits", "landlock", "no_network"]);
    assert!(missing(&all, &Protection::ALL).is_empty());
    assert_eq!(missing(&all, &[Protection::Limits, Protection::NoNetwork]), ["landlock"]);
    assert_eq!(missing(&required(&["gravity"]), &Protection::ALL), ["gravity"]);
    assert!(missing(&[], &[]).is_empty());
}

#[test]
fn a_program_is_found_by_its_path_or_on_the_fixed_search_path() {
    assert!(find_program("sh").is_some_and(|path| path.is_absolute()));
    assert_eq!(find_program("/bin/sh"), Some("/bin/sh".into()));
    for absent in ["", "no-such-program-here", "/etc/passwd", "/no/such", "./sh", "../bin/sh", "/usr"] {
        assert_eq!(find_program(absent), None, "{absent}");
    }
    let fault = command("no-such-program-here").spec().unwrap_err();
    assert_eq!(fault.code, ErrorCode::ToolchainMissing);
    assert!(fault.message.contains("no-such-program-here"));
    let spec = command("sh").spec().unwrap();
    assert!(spec.argv[0].ends_with("/sh") && spec.argv[1] == "--all" && spec.timeout_ms == 3000);
    assert_eq!(spec.writable, [PathBuf::from("/srv/copy/site/public"), "/srv/copy/temporary".into()]);
}

#[test]
fn the_last_report_counts() {
    let line = |ending: &Ending| serde_json::to_string(ending).unwrap() + "\n";
    let both = line(&Ending::Exited(3)) + &line(&Ending::TimedOut);
    assert_eq!(last_ending(both.as_bytes()), Some(Ending::TimedOut));
    let missing = Ending::Unprotected(vec!["landlock".to_owned()]);
    assert_eq!(last_ending(line(&missing).as_bytes()), Some(missing));
    assert_eq!(last_ending(b""), None);
    assert_eq!(last_ending(b"words\n\xff"), None);
}

#[test]
fn the_end_of_a_command_shows_its_limit() {
    for (ending, text, limit) in [
        (Ending::TimedOut, "", Some("time")),
        (Ending::WroteTooMuch, "", Some("bytes written")),
        (Ending::Signalled(24), "", Some("CPU time")),
        (Ending::Exited(152), "", Some("CPU time")),
        (Ending::Exited(153), "", Some("bytes of one file")),
        (Ending::Exited(1), "write: File too large", Some("bytes of one file")),
        (Ending::Exited(1), "Traceback\nMemoryError", Some("memory")),
        (Ending::Exited(2), "sh: 1: Cannot fork", Some("processes")),
        (Ending::Exited(1), "page not found", None),
        (Ending::Exited(0), "out of memory is a chapter", None),
        (Ending::Lost, "", None),
    ] {
        assert_eq!(output(ending.clone(), text).limit(), limit, "{ending:?} {text}");
    }
}

#[test]
fn the_parent_of_a_process_follows_its_name() {
    assert_eq!(parent_in_stat("7 (sh) S 3 7 7 0"), Some(3));
    assert_eq!(parent_in_stat("7 (a) S 1) R 5 7"), Some(5), "a name may look like fields");
    assert_eq!(parent_in_stat("7 (sh) Z 3 7 7 0"), None, "it has ended");
    assert_eq!(parent_in_stat("7"), None);
}

#[test]
fn arguments_of_other_commands_select_no_mode() {
    for arguments in [&[][..], &["search"], &["supervise-command", "x"]] {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        assert!(hidden_mode(&arguments).is_none());
    }
}
