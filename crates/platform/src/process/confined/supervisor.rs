//! The two processes around a command: the supervisor, which ends all its remaining processes, and its child, which starts it confined.
//!
//! Both have one thread, as namespaces and restrictions of a thread demand. The command is distinguished from both by its user where the
//! supervisor is root, and by its process group.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getegid, geteuid, getpid, kill_process, set_child_subreaper, wait,
};
use rustix::thread::UnshareFlags;
use tokio::signal::unix::{SignalKind, signal};

use super::restrictions::restrict;
use super::{
    Ending, PROCESSES_MAX, SEARCH_PATH, SUPERVISOR_MODE, Spec, WRITTEN_BYTES_MAX, WRITTEN_ENTRIES_MAX,
    missing,
};

/// The hidden mode of the process that starts the command.
const CONFINED_MODE: &str = "start-confined";

/// Longest specification that is read.
const SPEC_BYTES_MAX: u64 = 1 << 20;
/// Time between two checks of the child.
const TICK: Duration = Duration::from_millis(10);
/// Time between two checks of what the command wrote.
const LOOK: Duration = Duration::from_secs(1);
/// Time between SIGTERM and SIGKILL: less than the three seconds after which the server ends the supervisor.
const GRACE: Duration = Duration::from_millis(2500);
/// Time for which SIGKILL is repeated while processes are left.
const KILLING: Duration = Duration::from_millis(400);
/// The first of the user ids that root gives to commands: each command has one of its own, so that no other process counts towards the
/// limits of that user.
const FIRST_USER: u32 = 2_000_000_000;
const USERS: u32 = 1_000_000;
/// The user in a container without such ids.
const NOBODY: u32 = 65_534;

/// Runs the hidden mode of this name: the supervisor, or its child. Both read a specification and report how the command ended.
pub(super) fn run_mode(mode: &OsStr) -> Option<ExitCode> {
    match mode.to_str()? {
        SUPERVISOR_MODE => Some(finish(read_spec().and_then(supervise))),
        CONFINED_MODE => Some(finish(read_spec().and_then(|spec| start_confined(&spec)).map(Some))),
        _ => None,
    }
}

fn finish(ended: io::Result<Option<Ending>>) -> ExitCode {
    let ending = ended.unwrap_or_else(|error| Some(Ending::NotStarted(error.to_string())));
    let Some(ending) = ending else { return ExitCode::SUCCESS };
    let reported = serde_json::to_string(&ending)
        .map_err(io::Error::other)
        .and_then(|line| writeln!(io::stdout(), "{line}"));
    if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read_spec() -> io::Result<Spec> {
    let mut text = Vec::new();
    io::stdin().lock().take(SPEC_BYTES_MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Runs the child until it ends or has to. The child's own report is enough unless the child was killed.
fn supervise(mut spec: Spec) -> io::Result<Option<Ending>> {
    let is_root = geteuid().is_root();
    if is_root {
        spec.user = Some(give_to_user(&spec)?);
    } else {
        // The kernel may count all processes of this user.
        spec.processes_max = PROCESSES_MAX.saturating_add(threads_of(geteuid().as_raw()));
    }
    set_child_subreaper(Some(getpid()))?;
    enter_namespaces(is_root);
    // The runtime must not have another thread: a process that left its PID namespace for its children cannot start threads.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(watch(&spec))
}

async fn watch(spec: &Spec) -> io::Result<Option<Ending>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut child = start_child(spec)?;
    let deadline = Instant::now() + Duration::from_millis(spec.timeout_ms);
    let mut next_look = Instant::now() + LOOK;
    let ending = loop {
        tokio::select! {
            _ = terminate.recv() => break None,
            () = tokio::time::sleep(TICK) => {}
        }
        if child.try_wait()?.is_some() {
            kill_descendants(&mut child).await;
            return Ok(None);
        }
        let now = Instant::now();
        if now >= deadline {
            break Some(Ending::TimedOut);
        }
        if now >= next_look {
            if has_written_too_much(&spec.writable) {
                break Some(Ending::WroteTooMuch);
            }
            next_look = now + LOOK;
        }
    };
    end_descendants(&mut child).await;
    Ok(ending)
}

fn start_child(spec: &Spec) -> io::Result<Child> {
    let text = serde_json::to_vec(spec)?;
    let mut child = Command::new("/proc/self/exe").arg(CONFINED_MODE).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&text)?;
    }
    Ok(child)
}

/// Asks all processes of the command to end, and ends those that do not.
async fn end_descendants(child: &mut Child) {
    // The child that started the command stays, to report how it ended and to reap the remaining processes.
    let first = Pid::from_child(child);
    for process in descendants().into_iter().filter(|process| *process != first) {
        // Fails only if it has ended.
        let _ = kill_process(process, Signal::TERM);
    }
    let end = Instant::now() + GRACE;
    while Instant::now() < end {
        let _ = child.try_wait();
        if descendants().is_empty() {
            return;
        }
        tokio::time::sleep(TICK).await;
    }
    kill_descendants(child).await;
}

/// Kills all remaining processes, repeatedly, because new ones may be started meanwhile. If the first process of a PID namespace is killed,
/// all others end at once.
async fn kill_descendants(child: &mut Child) {
    let end = Instant::now() + KILLING;
    while Instant::now() < end {
        let _ = child.try_wait();
        let left = descendants();
        if left.is_empty() {
            return;
        }
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        tokio::time::sleep(TICK / 2).await;
    }
}

/// Returns the descendants of this process that still run. As their subreaper, it is an ancestor of those whose parents ended, too.
fn descendants() -> Vec<Pid> {
    let processes: Vec<(i32, i32)> = numbered("/proc").filter_map(|id| Some((id, parent_of(id)?))).collect();
    let mut found = vec![getpid().as_raw_nonzero().get()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        at += 1;
        found.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id));
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// Returns the numbers among the names in a folder.
fn numbered(folder: &str) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the parent of a process that has not ended.
fn parent_of(process: i32) -> Option<i32> {
    parent_in_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Parses the parent in the text of `/proc/ID/stat`; `None` for a process that has ended. The name before it may contain anything.
pub(super) fn parent_in_stat(text: &str) -> Option<i32> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

/// Counts the threads of a user.
fn threads_of(user: u32) -> u64 {
    let threads = numbered("/proc").map(|process| {
        let folder = format!("/proc/{process}/task");
        match fs::metadata(&folder) {
            Ok(metadata) if metadata.uid() == user => numbered(&folder).count() as u64,
            _ => 0,
        }
    });
    threads.sum()
}

/// Gives the folders of a command to a user of its own, and returns that user. The files of the site only get its group, so that it can
/// read them.
fn give_to_user(spec: &Spec) -> io::Result<u32> {
    let own = FIRST_USER + std::process::id() % USERS;
    let give = |user: u32| -> io::Result<()> {
        change_owner(&spec.folder, None, user)?;
        spec.writable.iter().try_for_each(|folder| change_owner(folder, Some(user), user))
    };
    match give(own) {
        Ok(()) => Ok(own),
        // A container may not have so many users.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => give(NOBODY).map(|()| NOBODY),
        Err(error) => Err(error),
    }
}

/// Changes owner and group of a folder and of everything in it, which the group may read. No process of a command runs, and no link is
/// followed.
fn change_owner(folder: &Path, owner: Option<u32>, group: u32) -> io::Result<()> {
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        lchown(&path, owner, Some(group))?;
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            continue;
        }
        let readable = if metadata.is_dir() { 0o050 } else { 0o040 };
        fs::set_permissions(&path, Permissions::from_mode(metadata.mode() | readable))?;
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        }
    }
    Ok(())
}

/// Checks whether a command has written more into its folders than it may, or made them so deep that they cannot be counted. Anything else
/// that cannot be read is not counted.
fn has_written_too_much(folders: &[PathBuf]) -> bool {
    let (mut bytes, mut entries, mut open) = (0_u64, 0_usize, folders.to_vec());
    while let Some(folder) = open.pop() {
        let read = fs::read_dir(&folder);
        if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidFilename) {
            return true;
        }
        for entry in read.into_iter().flatten().flatten() {
            entries += 1;
            let Ok(metadata) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if bytes > WRITTEN_BYTES_MAX || entries > WRITTEN_ENTRIES_MAX {
                return true;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            }
        }
    }
    false
}

/// Enters new namespaces: a network without interfaces, and, for children, processes of their own. Where the system does not allow it, the
/// other protections have to suffice.
fn enter_namespaces(is_root: bool) {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let own = UnshareFlags::NEWNET | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if is_root {
        let _ = unshare(own);
    } else if unshare(own | UnshareFlags::NEWUSER).is_ok() {
        // The user keeps its number, so that files keep their owner.
        let _ = fs::write("/proc/self/setgroups", "deny");
        let _ = fs::write("/proc/self/uid_map", format!("{user} {user} 1"));
        let _ = fs::write("/proc/self/gid_map", format!("{group} {group} 1"));
    }
}

#[expect(deprecated, reason = "what is unsafe about it is to unshare descriptors, which these flags do not")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Confines this process and starts the command, if it has all required protections.
fn start_confined(spec: &Spec) -> io::Result<Ending> {
    let given = restrict(spec)?;
    let missing = missing(&spec.require, &given);
    if !missing.is_empty() {
        return Ok(Ending::Unprotected(missing));
    }
    let (program, arguments) =
        spec.argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    // Standard output of this process is for its report.
    let output = || -> io::Result<Stdio> { Ok(io::stderr().as_fd().try_clone_to_owned()?.into()) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&spec.folder).process_group(0);
    command.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
    command.env_clear().env("PATH", SEARCH_PATH).env("LANG", "C.UTF-8").env("TZ", "UTC");
    command.env("HOME", &spec.temporary).env("TMPDIR", &spec.temporary);
    wait_for(&command.spawn()?)
}

/// Waits until the command ends. As the first process of its namespace, this one also reaps processes whose parents ended.
fn wait_for(command: &Child) -> io::Result<Ending> {
    let own = Pid::from_child(command);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((process, status))) if process == own => {
                let signal = status.terminating_signal().map(Ending::Signalled);
                return Ok(signal.or(status.exit_status().map(Ending::Exited)).unwrap_or(Ending::Lost));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
