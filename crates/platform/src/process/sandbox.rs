//! Restricts this process before it reads untrusted input: no files, network or other processes, and limited memory.
//!
//! A process in the sandbox can compute, allocate memory up to its limit, and use its open streams; all other system calls
//! fail with `EPERM`. The resource limits work on every Unix; system calls are filtered by seccomp, only on Linux on x86_64
//! and aarch64. [`has_seccomp_filter`] checks that.
//!
//! A process whose library opens untrusted files by path keeps the right to read files below one directory
//! ([`enter_read_only`]). Seccomp cannot check paths, so Landlock does, if the kernel has it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::safe_open::Folder;

/// The memory limit of a process in the sandbox, which can be changed for each task.
pub struct MemoryLimit {
    /// `/proc/self/statm`, opened before the sandbox forbids that.
    statm: Option<File>,
}

/// Restricts this process to computing. `bytes_max` is the upper bound of [`MemoryLimit::set_headroom`]. Cannot be undone.
///
/// # Errors
/// If the system refuses a resource limit. Without seccomp, only the resource limits apply, and a message on standard error
/// says so.
pub fn enter_compute_only(bytes_max: u64) -> io::Result<MemoryLimit> {
    let memory = MemoryLimit { statm: File::open("/proc/self/statm").ok() };
    set_common_limits()?;
    if let Some(mapped) = memory.mapped_bytes() {
        lower_limit(Resource::As, mapped + bytes_max)?;
    }
    filter_system_calls(seccomp::Profile::Compute);
    Ok(memory)
}

/// Restricts this process to computing and to reading files below `folder`, with at most `bytes_max` of memory besides mapped files. Cannot
/// be undone. Returns `true` if the directory is enforced; if not, the process can read every file that its user can read, and a message on
/// standard error says so.
///
/// The process must have only one thread.
///
/// # Errors
/// See [`enter_compute_only`].
pub fn enter_read_only(folder: &Folder, bytes_max: u64) -> io::Result<bool> {
    set_common_limits()?;
    lower_limit(Resource::Data, bytes_max)?;
    let confined = landlock_files::confine(folder);
    if let Err(error) = &confined {
        let _ = writeln!(io::stderr(), "file access is not confined to one directory: {error}");
    }
    filter_system_calls(seccomp::Profile::Read);
    Ok(confined.is_ok())
}

/// Checks whether this system can confine a process to the files below one directory.
#[must_use]
pub fn can_confine_files() -> bool {
    landlock_files::can_confine()
}

fn set_common_limits() -> io::Result<()> {
    // Under memory pressure the kernel should kill this process before the database. Optional, so errors are ignored.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    lower_limit(Resource::Core, 0)?;
    lower_limit(Resource::Fsize, 0)
}

/// Sets the limit to `maximum`, or to the existing hard limit if that is lower.
pub(super) fn lower_limit(resource: Resource, maximum: u64) -> io::Result<()> {
    let limit = getrlimit(resource).maximum.map_or(maximum, |existing| existing.min(maximum));
    Ok(setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?)
}

fn filter_system_calls(profile: seccomp::Profile) {
    if let Err(error) = seccomp::install_filter(profile) {
        let _ = writeln!(io::stderr(), "system calls are not filtered: {error}");
    }
}

/// Checks whether the kernel filters the system calls of a process with seccomp.
#[must_use]
pub fn has_seccomp_filter(process_id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process_id}/status")).unwrap_or_default();
    status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

impl MemoryLimit {
    /// Allows the process to map at most `bytes` more than it has mapped now.
    pub fn set_headroom(&self, bytes: u64) {
        if let Some(mapped) = self.mapped_bytes() {
            let maximum = getrlimit(Resource::As).maximum;
            let current = maximum.map_or(mapped + bytes, |maximum| maximum.min(mapped + bytes));
            // If this fails, the hard limit of `enter_compute_only` still applies.
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
pub(super) mod seccomp {
    use std::collections::BTreeMap;
    use std::io;

    use libc::c_long;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter_all_threads,
    };

    /// A set of allowed system calls.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Profile {
        /// Computing.
        Compute,
        /// Computing and reading files.
        Read,
    }

    /// Additional system calls for reading files; `openat` is allowed depending on its flags.
    const ALLOWED_TO_READ: &[c_long] = &[
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

    /// Flags of `openat` that can change a file. `O_TRUNC` does so even if the file is opened for reading.
    const WRITE_FLAGS: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

    /// System calls that threads, memory and streams need.
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

    /// Makes all other system calls fail, in all threads of the process.
    pub(super) fn install_filter(profile: Profile) -> io::Result<()> {
        // A filter cannot read the arguments of `clone3`, because they are in memory. After ENOSYS, libc uses `clone`.
        let no_clone3 = filter(
            [(libc::SYS_clone3, Vec::new())].into(),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        )?;
        let own_id = u64::from(std::process::id());
        let clone_thread = libc::CLONE_THREAD.unsigned_abs().into();
        let if_argument = |argument, operator, value| -> io::Result<Vec<SeccompRule>> {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value);
            let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
            Ok(vec![rule.map_err(io::Error::other)?])
        };
        let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
            ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
        // New threads but no processes; signals only to this process, which `abort` needs; only its own resource limits.
        allowed.insert(libc::SYS_clone, if_argument(0, SeccompCmpOp::MaskedEq(clone_thread), clone_thread)?);
        allowed.insert(libc::SYS_tgkill, if_argument(0, SeccompCmpOp::Eq, own_id)?);
        allowed.insert(libc::SYS_prlimit64, if_argument(0, SeccompCmpOp::Eq, 0)?);
        if profile == Profile::Read {
            allowed.extend(ALLOWED_TO_READ.iter().map(|call| (*call, Vec::new())));
            let write_flags = WRITE_FLAGS.unsigned_abs().into();
            allowed.insert(libc::SYS_openat, if_argument(2, SeccompCmpOp::MaskedEq(write_flags), 0)?);
        }
        let eperm = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let only_allowed = filter(allowed, eperm, SeccompAction::Allow)?;
        for program in [no_clone3, only_allowed] {
            apply_filter_all_threads(&program).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Creates a filter that does `on_match` with calls that follow one of the rules, and `on_mismatch` with all others.
    pub(in crate::process) fn filter(
        rules: BTreeMap<i64, Vec<SeccompRule>>,
        on_mismatch: SeccompAction,
        on_match: SeccompAction,
    ) -> io::Result<BpfProgram> {
        let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
        let filter =
            SeccompFilter::new(rules, on_mismatch, on_match, architecture).map_err(io::Error::other)?;
        filter.try_into().map_err(io::Error::other)
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod seccomp {
    #[derive(Clone, Copy)]
    pub(super) enum Profile {
        Compute,
        Read,
    }

    pub(super) fn install_filter(_: Profile) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod landlock_files {
    use std::io;

    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus,
    };

    use crate::safe_open::Folder;

    /// The newest ABI whose access rights are restricted, as far as the kernel supports it.
    const NEWEST_ABI: ABI = ABI::V5;

    /// Allows only reading, and only below `folder`: the open directory itself, whatever its path names later.
    pub(super) fn confine(folder: &Folder) -> io::Result<()> {
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(NEWEST_ABI))
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
mod landlock_files {
    use crate::safe_open::Folder;

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

    const MIB: u64 = 1 << 20;

    /// Exit code of a child whose assertions hold; a failed test exits with another one.
    const SUCCESS: i32 = 7;

    /// Runs an ignored test in a new process of this test program. Returns its exit code and standard error.
    fn run_in_new_process(test: &str) -> io::Result<(Option<i32>, String)> {
        let output = Command::new(std::env::current_exe()?)
            .args(["--exact", &format!("process::sandbox::tests::{test}"), "--ignored", "--nocapture"])
            .output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    #[test]
    fn a_process_in_a_sandbox_can_only_compute() {
        let (code, stderr) = run_in_new_process("assert_compute_only").unwrap();
        assert_eq!(code, Some(SUCCESS), "{stderr}");
    }

    #[test]
    fn a_read_only_process_reads_only_below_its_folder() {
        let (code, stderr) = run_in_new_process("assert_read_only").unwrap();
        assert_eq!(code, Some(SUCCESS), "{stderr}");
    }

    #[test]
    #[ignore = "restricts its process: run by a_read_only_process_reads_only_below_its_folder"]
    fn assert_read_only() {
        use std::fs;
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| own.path().join(name);
        fs::create_dir(at("below")).unwrap();
        fs::write(at("below/text"), "text").unwrap();
        fs::write(other.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(other.path(), at("link")).unwrap();
        let can_confine = can_confine_files();
        let confined = enter_read_only(&Folder::open(own.path()).unwrap(), 512 * MIB).unwrap();
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
        // Threads can still be started, with the same restrictions.
        let path = at("below/new");
        denied("write on a thread", thread::spawn(move || fs::write(path, "x")).join().unwrap());
        eprintln!("passed");
        exit(SUCCESS);
    }

    #[test]
    fn memory_is_limited() {
        let (code, stderr) = run_in_new_process("exceed_memory_limit").unwrap();
        assert_eq!(code, None, "the process was not killed by a signal: {stderr}");
        assert!(stderr.contains("memory allocation"), "{stderr}");
    }

    #[test]
    #[ignore = "restricts its process: run by a_process_in_a_sandbox_can_only_compute"]
    fn assert_compute_only() {
        let file = std::env::temp_dir().join(format!("sandbox-{}", std::process::id()));
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let parent = rustix::process::getppid().unwrap();
        let memory = enter_compute_only(600 * MIB).unwrap();
        memory.set_headroom(512 * MIB);
        let denied = |what: &str, outcome: io::Result<()>| {
            assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied), "{what}");
        };
        denied("read a file", std::fs::read("/etc/passwd").map(drop));
        denied("write a file", std::fs::write(&file, "x"));
        denied("list a folder", std::fs::read_dir("/").map(drop));
        denied("remove a file", std::fs::remove_file(&file));
        denied("connect", TcpStream::connect("127.0.0.1:9").map(drop));
        denied("send", socket.send_to(b"x", "127.0.0.1:9").map(drop));
        denied("start a program", Command::new("/bin/true").status().map(drop));
        denied(
            "signal",
            rustix::process::kill_process(parent, rustix::process::Signal::CONT).map_err(Into::into),
        );
        let raised = Rlimit { current: None, maximum: None };
        assert!(setrlimit(Resource::As, raised).is_err() || rustix::process::geteuid().is_root());
        // Threads, memory and the open streams can still be used.
        let sum = thread::spawn(|| vec![1_u8; 64 << 20].iter().map(|&one| u64::from(one)).sum::<u64>());
        assert_eq!(sum.join().unwrap(), 64 << 20);
        eprintln!("passed");
        exit(SUCCESS);
    }

    #[test]
    #[ignore = "restricts its process: run by memory_is_limited"]
    fn exceed_memory_limit() {
        let memory = enter_compute_only(512 * MIB).unwrap();
        memory.set_headroom(64 * MIB);
        let allocated = vec![1_u8; 256 << 20];
        eprintln!("{} bytes were allocated", allocated.len());
        exit(0);
    }
}
