//! What a process that works on hostile input gives up before it sees any: files, the network, other processes, and
//! memory without end.
//!
//! Afterwards it can compute, take memory within its limit, and use the streams that it has; everything else is refused
//! with `EPERM`. Limits of the process hold on every Unix; system calls are refused on Linux, where the kernel has seccomp
//! and knows the machine. [`is_fenced`] says whether they are.
//!
//! A process that reads files of strangers with a library that opens them by path keeps the right to read what lies below
//! one folder ([`enter_reading`]). Seccomp cannot look at paths; where the kernel has Landlock it sees to that.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::beneath::Folder;

/// The memory of a process in a sandbox, whose limit can be set anew for each piece of work.
pub struct Memory {
    /// `/proc/self/statm`, which cannot be opened any more.
    statm: Option<File>,
}

/// Gives up what is not needed to compute. `bytes_max` is the most that [`Memory::limit`] may allow later. Cannot be undone.
///
/// # Errors
/// When the system refuses a limit. Where it has no seccomp, which is said on the standard error, the limits alone hold.
pub fn enter(bytes_max: u64) -> io::Result<Memory> {
    // It cannot be opened any more afterwards.
    let memory = Memory { statm: File::open("/proc/self/statm").ok() };
    enter_common()?;
    if let Some(now) = memory.mapped_bytes() {
        least(Resource::As, now + bytes_max)?;
    }
    refuse_calls(calls::Kind::Compute);
    Ok(memory)
}

/// Gives up what is not needed to compute and to read files below `folder`, and memory of its own beyond `bytes_max`; files
/// that it maps do not count. Cannot be undone. Answers whether the system keeps it to that folder; where it does not, which
/// is said on the standard error, every file can be read that the user can read.
///
/// The process must have one thread only.
///
/// # Errors
/// As [`enter`].
pub fn enter_reading(folder: &Folder, bytes_max: u64) -> io::Result<bool> {
    enter_common()?;
    least(Resource::Data, bytes_max)?;
    let confined = files::confine(folder);
    if let Err(error) = &confined {
        let _ = writeln!(io::stderr(), "files are not kept to one folder: {error}");
    }
    refuse_calls(calls::Kind::Read);
    Ok(confined.is_ok())
}

/// Whether this system can keep a process to the files of one folder.
#[must_use]
pub fn can_confine_files() -> bool {
    files::can_confine()
}

fn enter_common() -> io::Result<()> {
    // Under memory pressure the kernel ends this process before the database; it may refuse, and then chooses by itself.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    least(Resource::Core, 0)?;
    least(Resource::Fsize, 0)
}

/// At most `most`, or less where whoever started the program bounded it already.
fn least(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn refuse_calls(kind: calls::Kind) {
    if let Err(error) = calls::refuse(kind) {
        let _ = writeln!(io::stderr(), "system calls are not refused: {error}");
    }
}

/// Whether the system refuses a process the calls that it does not need.
#[must_use]
pub fn is_fenced(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

impl Memory {
    /// From now on at most `bytes` more than the process has.
    pub fn limit(&self, bytes: u64) {
        if let Some(now) = self.mapped_bytes() {
            let maximum = getrlimit(Resource::As).maximum;
            let current = maximum.map_or(now + bytes, |maximum| maximum.min(now + bytes));
            // The limit of the whole process, above, holds in any case.
            let _ = setrlimit(Resource::As, Rlimit { current: Some(current), maximum });
        }
    }

    fn mapped_bytes(&self) -> Option<u64> {
        let mut line = [0; 128];
        let read = self.statm.as_ref()?.read_at(&mut line, 0).ok()?;
        let pages: u64 = std::str::from_utf8(&line[..read]).ok()?.split(' ').next()?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls {
    use std::collections::BTreeMap;
    use std::io;

    use libc::c_long;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    /// What a process goes on to do.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Kind {
        /// Compute.
        Compute,
        /// Compute, and read files.
        Read,
    }

    /// What reading files needs beside that; `openat` is allowed by its flags.
    const READING: &[c_long] = &[
        libc::SYS_faccessat,
        libc::SYS_fcntl,
        libc::SYS_fstatfs,
        libc::SYS_getcwd,
        libc::SYS_getdents64,
        libc::SYS_lseek,
        libc::SYS_newfstatat,
        libc::SYS_readlinkat,
        libc::SYS_statx,
    ];

    /// Flags of `openat` with which a file is changed. Truncating is one even where the file is opened for reading.
    const WRITING: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

    /// What threads, memory and streams need.
    const ALLOWED: &[c_long] = &[
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_clone3,
        libc::SYS_close,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_fstat,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_nanosleep,
        libc::SYS_ppoll,
        libc::SYS_pread64,
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_restart_syscall,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
        libc::SYS_write,
        libc::SYS_writev,
    ];

    /// Refuses every other system call, for this thread and those to come.
    pub(super) fn refuse(kind: Kind) -> io::Result<()> {
        // The arguments of `clone3` stand in memory, where a filter cannot look: the C library then uses `clone`.
        let no_clone3 = filter(
            [(libc::SYS_clone3, Vec::new())].into(),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        )?;
        let own = u64::from(std::process::id());
        let thread = libc::CLONE_THREAD.unsigned_abs().into();
        let with = |argument, operator, value| -> io::Result<Vec<SeccompRule>> {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value);
            let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
            Ok(vec![rule.map_err(io::Error::other)?])
        };
        let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        // Threads and no processes; signals to itself, which is how it aborts; limits of its own.
        allowed.insert(libc::SYS_clone, with(0, SeccompCmpOp::MaskedEq(thread), thread)?);
        allowed.insert(libc::SYS_tgkill, with(0, SeccompCmpOp::Eq, own)?);
        allowed.insert(libc::SYS_prlimit64, with(0, SeccompCmpOp::Eq, 0)?);
        if kind == Kind::Read {
            allowed.extend(READING.iter().map(|call| (*call, Vec::new())));
            let writing = WRITING.unsigned_abs().into();
            allowed.insert(libc::SYS_openat, with(2, SeccompCmpOp::MaskedEq(writing), 0)?);
        }
        let eperm = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let others = filter(allowed, eperm, SeccompAction::Allow)?;
        for program in [no_clone3, others] {
            apply_filter_all_threads(&program).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn filter(
        rules: BTreeMap<i64, Vec<SeccompRule>>,
        else_: SeccompAction,
        matched: SeccompAction,
    ) -> io::Result<BpfProgram> {
        let machine = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
        let filter = SeccompFilter::new(rules, else_, matched, machine).map_err(io::Error::other)?;
        filter.try_into().map_err(io::Error::other)
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod calls {
    #[derive(Clone, Copy)]
    pub(super) enum Kind {
        Compute,
        Read,
    }

    pub(super) fn refuse(_: Kind) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod files {
    use std::io;

    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus,
    };

    use crate::beneath::Folder;

    /// What newer kernels add is asked for as well, where the kernel has it.
    const KNOWN: ABI = ABI::V5;

    /// From now on no file can be opened but for reading below `folder`, which is meant itself and not what has its path.
    pub(super) fn confine(folder: &Folder) -> io::Result<()> {
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))
            .and_then(Ruleset::create)
            .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(folder, reading)))
            .and_then(landlock::RulesetCreated::restrict_self)
            .map_err(io::Error::other)?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err(io::Error::other("this system has no Landlock")),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }

    pub(super) fn can_confine() -> bool {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create)
            .is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod files {
    use crate::beneath::Folder;

    pub(super) fn confine(_: &Folder) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(super) fn can_confine() -> bool {
        false
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpStream, UdpSocket};
    use std::process::{Command, exit};
    use std::thread;

    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    /// Another process of this test program, which runs one test that is left out otherwise.
    fn in_another_process(test: &str) -> io::Result<(Option<i32>, String)> {
        let output = Command::new(std::env::current_exe()?)
            .args(["--exact", &format!("process::sandbox::tests::{test}"), "--ignored", "--nocapture"])
            .output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    #[test]
    fn a_process_in_a_sandbox_can_only_compute() {
        let (code, said) = in_another_process("what_is_refused").unwrap();
        assert_eq!(code, Some(7), "{said}");
    }

    #[test]
    fn a_process_that_reads_is_kept_to_its_folder() {
        let (code, said) = in_another_process("what_a_reader_is_refused").unwrap();
        assert_eq!(code, Some(7), "{said}");
    }

    #[test]
    #[ignore = "gives up the rights of its process: run by a_process_that_reads_is_kept_to_its_folder"]
    fn what_a_reader_is_refused() {
        use std::fs;
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| own.path().join(name);
        fs::create_dir(at("below")).unwrap();
        fs::write(at("below/text"), "text").unwrap();
        fs::write(other.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(other.path(), at("link")).unwrap();
        let can_confine = can_confine_files();
        let confined = enter_reading(&Folder::open(own.path()).unwrap(), 512 * MEGABYTE).unwrap();
        let denied = |what: &str, outcome: io::Result<()>| {
            assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied), "{what}");
        };
        assert_eq!(fs::read(at("below/text")).unwrap(), b"text");
        assert_eq!(fs::read_dir(at("below")).unwrap().count(), 1);
        if confined {
            denied("read another file", fs::read(other.path().join("secret")).map(drop));
            denied("read through a link", fs::read(at("link/secret")).map(drop));
            denied("list another folder", fs::read_dir(other.path()).map(drop));
        }
        assert_eq!(confined, can_confine);
        denied("write", fs::write(at("below/text"), "x"));
        denied("make", fs::File::create_new(at("below/new")).map(drop));
        denied("append", fs::OpenOptions::new().append(true).open(at("below/text")).map(drop));
        denied("remove", fs::remove_file(at("below/text")));
        denied("rename", fs::rename(at("below/text"), at("below/other")));
        denied("connect", TcpStream::connect("127.0.0.1:9").map(drop));
        denied("start a program", Command::new("/bin/true").status().map(drop));
        // Threads go on, and they are kept to it as well.
        let path = at("below/new");
        denied("write on a thread", thread::spawn(move || fs::write(path, "x")).join().unwrap());
        eprintln!("as it should be");
        exit(7);
    }

    #[test]
    fn memory_is_bounded() {
        let (code, said) = in_another_process("what_takes_too_much_memory").unwrap();
        assert_eq!(code, None, "it was not ended: {said}");
        assert!(said.contains("memory allocation"), "{said}");
    }

    #[test]
    #[ignore = "gives up the rights of its process: run by a_process_in_a_sandbox_can_only_compute"]
    fn what_is_refused() {
        let before = std::env::temp_dir().join(format!("sandbox-{}", std::process::id()));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let parent = rustix::process::getppid().unwrap();
        let memory = enter(600 * MEGABYTE).unwrap();
        memory.limit(512 * MEGABYTE);
        let denied = |what: &str, outcome: io::Result<()>| {
            assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied), "{what}");
        };
        denied("read a file", std::fs::read("/etc/passwd").map(drop));
        denied("write a file", std::fs::write(&before, "x"));
        denied("list a folder", std::fs::read_dir("/").map(drop));
        denied("remove a file", std::fs::remove_file(&before));
        denied("connect", TcpStream::connect("127.0.0.1:9").map(drop));
        denied("send", socket.send_to(b"x", "127.0.0.1:9").map(drop));
        denied("start a program", Command::new("/bin/true").status().map(drop));
        denied(
            "signal",
            rustix::process::kill_process(parent, rustix::process::Signal::CONT).map_err(Into::into),
        );
        let raised = Rlimit { current: None, maximum: None };
        assert!(setrlimit(Resource::As, raised).is_err() || rustix::process::geteuid().is_root());
        // What it is there for goes on: threads, memory, its streams.
        let sum = thread::spawn(|| vec![1_u8; 64 << 20].iter().map(|&one| u64::from(one)).sum::<u64>());
        assert_eq!(sum.join().unwrap(), 64 << 20);
        eprintln!("as it should be");
        exit(7);
    }

    #[test]
    #[ignore = "gives up the rights of its process: run by memory_is_bounded"]
    fn what_takes_too_much_memory() {
        let memory = enter(512 * MEGABYTE).unwrap();
        memory.limit(64 * MEGABYTE);
        let much = vec![1_u8; 256 << 20];
        eprintln!("it has {} bytes", much.len());
        exit(0);
    }
}
