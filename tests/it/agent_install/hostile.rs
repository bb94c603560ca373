//! Files that cannot or must not be edited: nothing is lost, and the message says what to paste by hand.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::machine::{Machine, printed};
use crate::harness::PROGRAM;

const NOBODY: u32 = 65534;
const CURSOR: &str = ".cursor/mcp.json";
const CODEX: &str = ".codex/config.toml";
const GOOSE: &str = ".config/goose/config.yaml";

/// Installs into one agent, which must be refused; returns what was printed.
fn refused(machine: &Machine, agent: &str) -> String {
    let before = machine.tree();
    let printed = machine.run(&["install", "--yes", "--agent", agent]);
    assert_eq!(printed.code, 1, "{printed:?}");
    assert!(printed.stdout.contains("write this into the file"), "{printed:?}");
    assert!(printed.stdout.contains("search,index") && printed.stdout.contains(PROGRAM), "{printed:?}");
    let after = machine.tree();
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{} stays as it is", path.display());
    }
    assert!(!after.keys().any(|path| path.to_string_lossy().contains(".part")), "{:?}", after.keys());
    printed.stdout
}

#[test]
fn broken_files_are_reported_with_the_place_of_the_fault() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let files: &[(&str, &str, &str, &str)] = &[
        ("cursor", CURSOR, "{\n  \"mcpServers\": {\n    \"a\": {}\n", "it is not valid JSON: "),
        ("cursor", CURSOR, "{\n  \"a\": 1\n  \"b\": 2\n}\n", "line 2"),
        ("cursor", CURSOR, "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n", "not valid JSON"),
        ("cursor", CURSOR, "[]", "its outermost value is not an object"),
        ("cursor", CURSOR, "{ \"mcpServers\": [1] }", "`mcpServers` is not an object"),
        ("cursor", CURSOR, "{ \"mcpServers\": {}, \"mcpServers\": {} }", "it has `mcpServers` twice"),
        ("cursor", CURSOR, &deep, "not valid JSON"),
        ("codex", CODEX, "[mcp_servers\nx = 1\n", "it is not valid TOML: "),
        ("codex", CODEX, "mcp_servers = 1\n", "`mcp_servers` is not a table"),
        ("codex", CODEX, "a = 1\r\nb = 2\n", "its lines end in different ways"),
        ("goose", GOOSE, "extensions: [a\n", "it is not valid YAML: "),
        ("goose", GOOSE, "extensions: 5\n", "`extensions` does not hold servers"),
        ("goose", GOOSE, "a: 1\n---\nb: 2\n", "YAML"),
        ("goose", GOOSE, "extensions: [a]\n", "`extensions` does not hold servers"),
        ("codex", CODEX, "mcp_servers = [1]\n", "`mcp_servers` is not a table"),
        ("goose", GOOSE, "a: &a [1,1,1,1]\nb: &b [*a,*a,*a]\nextensions: {x: [*b,*b], y: {}}\n", ""),
    ];
    for (agent, path, text, why) in files {
        let machine = Machine::new();
        machine.write(path, text);
        if why.is_empty() {
            // However the library handles it, the file is unchanged, or has the entry and everything else.
            machine.run(&["install", "--yes", "--agent", agent]);
            assert!(machine.read(path).contains("[*a,*a,*a]"), "{}", machine.read(path));
            continue;
        }
        let shown = refused(&machine, agent);
        assert!(shown.contains(why), "{why}: {shown}");
    }
    let machine = Machine::new();
    machine.write(".codex/AGENTS.md", "<!-- pairofcleats:begin -->\nmine\n");
    let shown = refused(&machine, "codex");
    assert!(shown.contains("markers") && shown.contains("## Finding code"), "{shown}");
    assert!(machine.read(CODEX).contains("pairofcleats"), "the other file is written");
}

/// Puts something where a configuration file is expected.
type MakeFile<'a> = &'a dyn Fn(&Path);

#[test]
fn things_that_are_no_files_of_the_user_are_not_touched() {
    let cases: &[(&str, MakeFile<'_>)] = &[
        ("is not a regular file", &|path| fs::create_dir(path).unwrap()),
        ("is not a regular file", &|path| {
            rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
        }),
        ("is not a regular file", &|path| symlink("/dev/zero", path).unwrap()),
        ("is a link to nothing", &|path| symlink("/no/such/file", path).unwrap()),
        ("cannot be read", &|path| symlink(path, path).unwrap()),
        ("is not UTF-8", &|path| fs::write(path, b"{ \"a\": \"\xff\" }").unwrap()),
        ("has more than", &|path| fs::write(path, vec![b' '; 9 * 1024 * 1024]).unwrap()),
        ("hard link", &|path| {
            fs::write(path, "{}").unwrap();
            fs::hard_link(path, path.with_extension("other")).unwrap();
        }),
        ("it is read-only", &|path| {
            fs::write(path, "{}").unwrap();
            fs::set_permissions(path, Permissions::from_mode(0o444)).unwrap();
        }),
        ("belongs to another user", &|path| {
            fs::write(path, "{}").unwrap();
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }),
    ];
    for (why, make) in cases {
        let machine = Machine::new();
        fs::create_dir(machine.path(".cursor")).unwrap();
        make(&machine.path(CURSOR));
        let printed = machine.run(&["install", "--yes", "--agent", "cursor"]);
        assert_eq!(printed.code, 1, "{why}: {printed:?}");
        assert!(
            printed.stdout.contains(why) && printed.stdout.contains("write this into"),
            "{why}: {printed:?}"
        );
    }
}

#[test]
fn a_link_into_a_dotfiles_repository_stays_a_link() {
    let machine = Machine::new();
    machine.write("dotfiles/cursor.json", "{\n  // mine\n}\n");
    machine.write("dotfiles/agents.md", "# Mine\n");
    fs::set_permissions(machine.path("dotfiles/cursor.json"), Permissions::from_mode(0o640)).unwrap();
    for folder in [".cursor", ".codex", ".gemini"] {
        fs::create_dir(machine.path(folder)).unwrap();
    }
    symlink("../dotfiles/cursor.json", machine.path(CURSOR)).unwrap();
    // One file for several agents.
    symlink("../dotfiles/agents.md", machine.path(".codex/AGENTS.md")).unwrap();
    symlink("../dotfiles/agents.md", machine.path(".gemini/GEMINI.md")).unwrap();
    let before = machine.tree();
    let agents = ["--agent", "cursor", "--agent", "codex", "--agent", "gemini"];
    machine.result(&[&["install", "--yes"][..], &agents].concat());
    assert_eq!(fs::read_link(machine.path(CURSOR)).unwrap(), Path::new("../dotfiles/cursor.json"));
    let text = machine.read("dotfiles/cursor.json");
    assert!(text.contains("// mine") && text.contains("pairofcleats"), "{text}");
    let mode = fs::metadata(machine.path("dotfiles/cursor.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert_eq!(machine.read("dotfiles/agents.md").matches("pairofcleats:begin").count(), 1);
    machine.result(&["uninstall", "--yes"]);
    assert_eq!(machine.tree(), before);
}

/// A repository is untrusted: its links must not lead out of it.
#[test]
fn a_link_out_of_a_repository_is_not_followed() {
    let machine = Machine::new();
    machine.write("secret.json", "{}");
    machine.write("shop/.git/HEAD", "");
    symlink("../secret.json", machine.path("shop/.mcp.json")).unwrap();
    symlink("..", machine.path("shop/.claude")).unwrap();
    let arguments = ["install", "--scope", "project", "--yes", "--agent", "claude-code"];
    let printed = printed(machine.command(&arguments).current_dir(machine.path("shop")));
    assert_eq!(printed.code, 1, "{printed:?}");
    assert_eq!(printed.stdout.matches("is a link out of the repository").count(), 2, "{printed:?}");
    assert_eq!(machine.read("secret.json"), "{}");
    assert!(!machine.path("skills").exists());
}

/// A user whose folder is read-only: the message says so, and what to paste.
#[test]
fn a_read_only_folder_is_reported() {
    assert!(rustix::process::geteuid().is_root(), "this test acts as two users, so it must run as root");
    let machine = Machine::new();
    let program = machine.folder().join("program");
    crate::harness::copy_program(PROGRAM.as_ref(), &program);
    machine.write(CURSOR, "{}");
    let everything = ["", "home", "home/.cursor", "home/.cursor/mcp.json", "data"];
    fs::create_dir(machine.data()).unwrap();
    for path in everything {
        chown(machine.folder().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    fs::set_permissions(machine.path(".cursor"), Permissions::from_mode(0o555)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", machine.home())
            .env("PAIROFCLEATS_HOME", machine.data());
        printed(command.current_dir("/").uid(NOBODY).gid(NOBODY).stdin(Stdio::null()))
    };
    let install = ["install", "--yes", "--agent", "cursor"];
    let printed = run(&install);
    assert_eq!(printed.code, 1, "{printed:?}");
    assert!(printed.stdout.contains(".cursor is read-only"), "{printed:?}");
    assert!(printed.stdout.contains("write this into the file"), "{printed:?}");
    assert_eq!(machine.read(CURSOR), "{}");
    // If no backup can be written, the file is not changed either.
    fs::set_permissions(machine.path(".cursor"), Permissions::from_mode(0o755)).unwrap();
    fs::write(machine.data().join("agents/backups"), "in the way").unwrap();
    let printed = run(&install);
    assert_eq!(printed.code, 1, "{printed:?}");
    assert!(printed.stdout.contains("its backup cannot be written"), "{printed:?}");
    assert_eq!(machine.read(CURSOR), "{}");
    fs::remove_file(machine.data().join("agents/backups")).unwrap();
    assert_eq!(run(&install).code, 0);
}

/// Runs a command in a terminal; when it asks, first writes `text` into `file`, if there is one, then answers.
fn answered(
    machine: &Machine,
    arguments: &[&str],
    change: Option<(&str, &str)>,
    answer: &str,
) -> (i32, String) {
    let script = r#"
import json, os, pty, sys
task = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvpe(task["command"][0], task["command"], task["env"])
shown = b""
def more():
    global shown
    try:
        part = os.read(terminal, 4096)
    except OSError:
        part = b""
    shown += part
    return part
while b"[y/N]" not in shown and more():
    pass
if task["file"]:
    with open(task["file"], "w") as file:
        file.write(task["text"])
os.write(terminal, task["answer"].encode() + b"\n")
while more():
    pass
_, status = os.waitpid(pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), shown.decode()]))
"#;
    let command: Vec<&str> = [&[PROGRAM], arguments].concat();
    let task = json!({
        "command": command, "answer": answer,
        "env": { "HOME": machine.home(), "PAIROFCLEATS_HOME": machine.data(), "NO_COLOR": "1", "TERM": "xterm" },
        "file": change.map(|(file, _)| machine.path(file)), "text": change.map(|(_, text)| text),
    });
    let output =
        Command::new("python3").args(["-c", script, &task.to_string()]).current_dir(machine.home()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_data_directory_that_cannot_be_used_is_no_defect() {
    let machine = Machine::new();
    machine.write(CURSOR, "{}");
    fs::create_dir(machine.data()).unwrap();
    fs::write(machine.data().join("agents"), "in the way").unwrap();
    let printed = machine.run(&["install", "--yes", "--agent", "cursor"]);
    assert_eq!(printed.code, 1, "{printed:?}");
    for part in ["/agents cannot be used", "Nothing was changed", "--home"] {
        assert!(printed.stderr.contains(part), "{part}: {printed:?}");
    }
    assert!(!printed.stderr.contains("INTERNAL"), "{printed:?}");
    assert_eq!(machine.read(CURSOR), "{}");
}

#[test]
fn a_terminal_is_asked() {
    let machine = Machine::new();
    machine.write(CURSOR, "{\n  \"a\": 1\n}\n");
    let install = ["install", "--agent", "cursor"];
    let (code, shown) = answered(&machine, &install, None, "n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("+  \"mcpServers\": {") && shown.contains("Nothing was changed."), "{shown}");
    assert!(!machine.read(CURSOR).contains("pairofcleats"));
    let (code, shown) = answered(&machine, &install, None, "y");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("✓ Cursor: ~/.cursor/mcp.json: changed (backup: "), "{shown}");
    assert!(machine.read(CURSOR).contains("pairofcleats"));
}

/// An agent saves its file while the difference is read.
#[test]
fn a_change_after_the_plan_is_kept() {
    let machine = Machine::new();
    machine.write(CURSOR, "{}\n");
    let install = ["install", "--agent", "cursor"];
    let (code, shown) = answered(&machine, &install, Some((CURSOR, "{\n  \"new\": 1\n}\n")), "y");
    assert_eq!(code, 0, "{shown}");
    let text = machine.read(CURSOR);
    assert!(text.contains("\"new\": 1") && text.contains("pairofcleats"), "{text}");
    // The same for removal, and for a change that leaves nothing to edit.
    let changed = text.replace("\"new\": 1", "\"new\": 2");
    let (code, shown) = answered(&machine, &["uninstall"], Some((CURSOR, &changed)), "y");
    assert_eq!((code, machine.read(CURSOR).as_str()), (0, "{\n  \"new\": 2\n}\n"), "{shown}");
    let (code, shown) = answered(&machine, &install, Some((CURSOR, "{ broken")), "y");
    assert_eq!((code, machine.read(CURSOR).as_str()), (1, "{ broken"), "{shown}");
    assert!(shown.contains("not valid JSON") && shown.contains("write this into the file"), "{shown}");
}

/// A program that rewrites its file all the time, as Claude Code does with its own, loses none of its changes.
#[test]
fn a_program_that_rewrites_its_file_loses_nothing() {
    let machine = Machine::new();
    machine.write(".claude.json", "{}\n");
    let (path, stop) = (machine.path(".claude.json"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                let mut whole: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
                whole[format!("key{count}")] = json!(count);
                let temporary = path.with_extension("json.tmp");
                let mut file = fs::File::create(&temporary).unwrap();
                file.write_all(serde_json::to_string_pretty(&whole).unwrap().as_bytes()).unwrap();
                fs::rename(&temporary, &path).unwrap();
                count += 1;
                std::thread::yield_now();
            }
            count
        });
        let mut written = 0;
        for round in 0..40 {
            let command = if round % 2 == 0 { "install" } else { "uninstall" };
            let printed = machine.run(&[command, "--yes", "--agent", "claude-code"]);
            assert!([0, 1].contains(&printed.code), "{printed:?}");
            assert!(printed.code == 0 || printed.stdout.contains("keeps changing it"), "{printed:?}");
            written += i32::from(printed.code == 0);
        }
        stop.store(true, Ordering::Relaxed);
        let count = writer.join().unwrap();
        assert!(written > 0 && count > 40, "{written} of 40 runs, {count} changes");
        let whole: Value = serde_json::from_str(&machine.read(".claude.json")).unwrap();
        for number in 0..count {
            assert_eq!(whole[format!("key{number}")], number, "a change was lost");
        }
    });
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let machine = Machine::with_agents();
    let before = machine.tree();
    let runs: Vec<_> = (0..6)
        .map(|_| {
            let mut command = machine.command(&["install", "--yes"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() || shown.contains("Another `install`"), "{shown}");
    }
    machine.result(&["install", "--yes"]);
    machine.result(&["uninstall", "--yes"]);
    assert_eq!(machine.tree(), before);
}
