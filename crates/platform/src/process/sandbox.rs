//! What a process that works on hostile input gives up before it sees any: files, the network, other processes, and
//! memory without end.
//!
//! Afterwards it can compute, take memory within its limit, and use the streams that it has; everything else is refused
//! with `EPERM`. Limits of the process hold on every Unix; system calls are refused on Linux, where the kernel has seccomp
//! and knows the machine. [`is_fenced`] says whether they are.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
    // Under memory pressure the kernel ends this process before the database; it may refuse, and then chooses by itself.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let memory = Memory { statm: File::open("/proc/self/statm").ok() };
    let least = |resource, most: u64| {
        // Whoever started the program may have bounded it already.
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    least(Resource::Core, 0)?;
    least(Resource::Fsize, 0)?;
    if let Some(now) = memory.mapped_bytes() {
        least(Resource::As, now + bytes_max)?;
    }
    if let Err(error) = calls::refuse() {
        let _ = writeln!(io::stderr(), "system calls are not refused: {error}");
    }
    Ok(memory)
}

/// Whether the system refuses a process everything but computing.
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
    pub(super) fn refuse() -> io::Result<()> {
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
    pub(super) fn refuse() -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
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
