//! Gives up permissions before the command starts: its user, resources, files and system calls. All restrictions are inherited and
//! irreversible.

use std::fs;
use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Pid, Resource, Rlimit, geteuid, getpid, getrlimit, setrlimit};
use rustix::thread::{
    CpuSet, Gid, Uid, clear_ambient_capability_set, sched_getaffinity, sched_setaffinity, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::super::sandbox::lower_limit;
use super::{CPU_SECONDS_MAX, FILE_BYTES_MAX, OPEN_FILES_MAX, Protection, Spec};

/// Maximum number of CPUs that a command uses: many programs start a thread for each, and threads count as processes.
const CPUS_MAX: usize = 8;
/// CPU seconds between the signal that announces the end and the kill.
const CPU_SECONDS_GRACE: u64 = 5;

/// The oldest ABI with which Landlock counts as a protection: the first that keeps other files from being truncated.
const REQUIRED_ABI: ABI = ABI::V3;
/// The newest ABI for which rights to files and ports are restricted, as far as the kernel has it.
const NEWEST_ABI: ABI = ABI::V5;

/// The folders of programs and their libraries. A folder that also contains the copy of the site is omitted.
const PROGRAMS: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/etc/alternatives",
];
/// System files that programs read. Neither keys nor passwords are in them.
const SYSTEM_FILES: &[&str] = &[
    "/etc/ca-certificates", "/etc/fonts", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd",
    "/etc/pki/tls/certs", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/dev/full", "/dev/random",
    "/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu",
];
/// Files that every command may write.
const SINKS: &[&str] = &["/dev/null"];

/// Returns the protections that this kernel can give.
pub(super) fn available() -> Vec<Protection> {
    let has_seccomp = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .is_ok_and(|actions| actions.split_whitespace().any(|action| action == "errno"));
    let has_landlock = required_ruleset().and_then(Ruleset::create).is_ok();
    let is_given = |protection: &Protection| match protection {
        Protection::Limits => true,
        Protection::Landlock => has_landlock,
        Protection::NoNetwork => has_seccomp && calls::ARE_KNOWN,
    };
    Protection::ALL.into_iter().filter(is_given).collect()
}

/// Creates a ruleset with everything that [`REQUIRED_ABI`] restricts; it fails if the kernel lacks any of it.
fn required_ruleset() -> Result<Ruleset, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED_ABI))
}

/// Gives up what the command does not need. Returns the resulting protections.
pub(super) fn restrict(spec: &Spec) -> io::Result<Vec<Protection>> {
    // Under memory pressure the kernel should kill the command before the database. Optional, so errors are ignored.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let _ = use_few_cpus();
    match spec.user {
        Some(user) => become_user(user)?,
        None if geteuid().is_root() => return Err(io::Error::other("commands never run as root")),
        None => {}
    }
    // A service may have been given capabilities that every program inherits.
    clear_ambient_capability_set()?;
    set_no_new_privs(true)?;
    let sends_signals = !could_end_others(spec);
    let given = [
        (Protection::Limits, set_limits(spec)),
        (Protection::Landlock, confine_files(spec)),
        // Last, because it also forbids calls that the others need.
        (Protection::NoNetwork, filter_calls(sends_signals)),
    ];
    Ok(given.into_iter().filter(|(_, outcome)| outcome.is_ok()).map(|(protection, _)| protection).collect())
}

/// Checks whether signals of the command would reach other processes of its user, such as the server: it is not alone in a namespace of
/// processes, and Landlock is too old to confine signals.
fn could_end_others(spec: &Spec) -> bool {
    let keeps_signals_in = required_ruleset()
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .is_ok();
    spec.user.is_none() && getpid() != Pid::INIT && !keeps_signals_in
}

fn use_few_cpus() -> io::Result<()> {
    let usable = sched_getaffinity(None)?;
    let mut few = CpuSet::new();
    (0..CpuSet::MAX_CPU).filter(|cpu| usable.is_set(*cpu)).take(CPUS_MAX).for_each(|cpu| few.set(cpu));
    Ok(sched_setaffinity(None, &few)?)
}

/// Switches to a user without any group but its own. The capabilities of root are lost with its ids.
fn become_user(user: u32) -> io::Result<()> {
    let (owner, group) = (Uid::from_raw(user), Gid::from_raw(user));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(owner, owner, owner)?)
}

fn set_limits(spec: &Spec) -> io::Result<()> {
    lower_limit(Resource::Core, 0)?;
    lower_limit(Resource::As, spec.memory_bytes_max)?;
    lower_limit(Resource::Fsize, FILE_BYTES_MAX)?;
    lower_limit(Resource::Nproc, spec.processes_max)?;
    lower_limit(Resource::Nofile, OPEN_FILES_MAX)?;
    // The first limit sends a signal that names the reason; the second one kills.
    lower_limit(Resource::Cpu, CPU_SECONDS_MAX + CPU_SECONDS_GRACE)?;
    let kill_at = getrlimit(Resource::Cpu).maximum;
    let signal_at = kill_at.map_or(CPU_SECONDS_MAX, |maximum| maximum.min(CPU_SECONDS_MAX));
    Ok(setrlimit(Resource::Cpu, Rlimit { current: Some(signal_at), maximum: kill_at })?)
}

/// Allows reading the system and the site, and writing the folders of the command. No file in these folders can be started as a program by
/// itself. Programs of the system that read code, such as interpreters and the dynamic loader, can still run them, under all other limits:
/// generators of sites need these programs, and the kernel starts no dynamic program without the loader.
fn confine_files(spec: &Spec) -> io::Result<()> {
    let all = AccessFs::from_all(NEWEST_ABI);
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = reading | AccessFs::Execute;
    let mut writing = all;
    writing.remove(AccessFs::Execute);
    let program = spec.argv.first().and_then(|program| fs::canonicalize(program).ok());
    let folder = fs::canonicalize(&spec.folder)?;
    let programs = PROGRAMS.iter().filter(|one| !folder.starts_with(one));
    let status = required_ruleset()
        .map(|ruleset| ruleset.set_compatibility(CompatLevel::BestEffort))
        .and_then(|ruleset| ruleset.handle_access(all))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST_ABI)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(programs, running)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(program, running)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(SYSTEM_FILES, reading)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(SINKS, reading | AccessFs::WriteFile)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules([&spec.folder], reading)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(&spec.writable, writing)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("this system has no Landlock")),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls {
    //! The system calls that commands cannot make.

    use std::collections::BTreeMap;
    use std::io;

    use libc::c_long;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule,
    };

    use crate::process::sandbox::seccomp;

    /// `true` if this architecture has a list.
    pub(super) const ARE_KNOWN: bool = true;

    /// Calls that fail: those that create sockets, which could also reach other processes through files, those for memory and messages that
    /// are shared with other processes of the user and outlive the command, and those through which kernels were attacked and which no
    /// generator of sites needs.
    pub(super) const DENIED: &[c_long] = &[
        libc::SYS_socket,
        libc::SYS_io_uring_setup,
        libc::SYS_add_key,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_mount,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_msgctl,
        libc::SYS_msgget,
        libc::SYS_msgrcv,
        libc::SYS_msgsnd,
        libc::SYS_perf_event_open,
        libc::SYS_pivot_root,
        libc::SYS_ptrace,
        libc::SYS_request_key,
        libc::SYS_semctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_setns,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_shmget,
        libc::SYS_umount2,
        libc::SYS_unshare,
        libc::SYS_userfaultfd,
    ];

    /// A call that fails if the argument at an index compares in this way with a value.
    pub(super) type DeniedArgument = (c_long, u8, SeccompCmpOp, u64);

    const AF_UNIX: u64 = 1;
    const SOCK_DGRAM: u64 = 2;
    const SOCK_RAW: u64 = 3;
    /// The bits of the kind of a socket.
    const SOCKET_KIND: u64 = 0xf;
    const CLONE_NEWUSER: u64 = 0x1000_0000;

    /// Pairs of sockets that may send elsewhere than to each other, namespaces in which a process has all capabilities, and the limits of
    /// other processes.
    pub(super) const DENIED_ARGUMENTS: &[DeniedArgument] = &[
        (libc::SYS_socketpair, 0, SeccompCmpOp::Ne, AF_UNIX),
        (libc::SYS_socketpair, 1, SeccompCmpOp::MaskedEq(SOCKET_KIND), SOCK_DGRAM),
        (libc::SYS_socketpair, 1, SeccompCmpOp::MaskedEq(SOCKET_KIND), SOCK_RAW),
        (libc::SYS_clone, 0, SeccompCmpOp::MaskedEq(CLONE_NEWUSER), CLONE_NEWUSER),
        (libc::SYS_prlimit64, 0, SeccompCmpOp::Ne, 0),
    ];

    /// Calls that fail as if the kernel did not have them, because a filter cannot read their arguments: C libraries then make the older
    /// call.
    pub(super) const UNKNOWN: &[c_long] = &[libc::SYS_clone3];

    /// Calls that send signals. They fail if these would reach other processes.
    pub(super) const SIGNALS: &[c_long] = &[
        libc::SYS_kill,
        libc::SYS_pidfd_send_signal,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_tkill,
    ];

    const SIGURG: u64 = 23;
    const F_SETOWN: u64 = 8;
    const F_SETOWN_EX: u64 = 15;
    const FIOSETOWN: u64 = 0x8901;
    const SIOCSPGRP: u64 = 0x8902;

    /// Like [`SIGNALS`]. Programs in Go interrupt their own threads with SIGURG, which is harmless; the owner of a file gets its signals.
    pub(super) const SIGNAL_ARGUMENTS: &[DeniedArgument] = &[
        (libc::SYS_tgkill, 2, SeccompCmpOp::Ne, SIGURG),
        (libc::SYS_fcntl, 1, SeccompCmpOp::Eq, F_SETOWN),
        (libc::SYS_fcntl, 1, SeccompCmpOp::Eq, F_SETOWN_EX),
        (libc::SYS_ioctl, 1, SeccompCmpOp::Eq, FIOSETOWN),
        (libc::SYS_ioctl, 1, SeccompCmpOp::Eq, SIOCSPGRP),
    ];

    /// Calls that do nothing: they change metadata, such as permissions, also of files that others use, and Landlock does not restrict
    /// them. Generators make them to copy files, and must not fail.
    pub(super) const IGNORED: &[c_long] = &[
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_fremovexattr,
        libc::SYS_fsetxattr,
        libc::SYS_lremovexattr,
        libc::SYS_lsetxattr,
        libc::SYS_removexattr,
        libc::SYS_setxattr,
        libc::SYS_utimensat,
        // `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which have one number on all architectures.
        452,
        463,
        466,
        469,
    ];

    /// Like [`IGNORED`], for calls that only older architectures have.
    #[cfg(target_arch = "x86_64")]
    pub(super) const IGNORED_BY_PATH: &[c_long] = &[
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_futimesat,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const IGNORED_BY_PATH: &[c_long] = &[];

    /// The bit of the numbers under which x86-64 has each call a second time.
    const SECOND_NUMBERS: Option<c_long> =
        if cfg!(target_arch = "x86_64") { Some(0x4000_0000) } else { None };

    fn both(number: c_long) -> impl Iterator<Item = c_long> {
        std::iter::once(number).chain(SECOND_NUMBERS.map(|bit| number | bit))
    }

    /// Creates a filter that lets these calls fail with an error number, or do nothing with 0.
    pub(super) fn filter<'c>(
        numbers: impl Iterator<Item = &'c c_long>,
        errno: i32,
    ) -> io::Result<BpfProgram> {
        compiled(numbers.flat_map(|number| both(*number)).map(|number| (number, Vec::new())).collect(), errno)
    }

    /// Like [`filter`], for calls with these arguments.
    pub(super) fn argument_filter(arguments: &[DeniedArgument], errno: i32) -> io::Result<BpfProgram> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        for (call, place, comparison, value) in arguments {
            for number in both(*call) {
                let length = SeccompCmpArgLen::Dword;
                let condition = SeccompCondition::new(*place, length, comparison.clone(), *value)
                    .map_err(io::Error::other)?;
                let rule = SeccompRule::new(vec![condition]).map_err(io::Error::other)?;
                rules.entry(number).or_default().push(rule);
            }
        }
        compiled(rules, errno)
    }

    fn compiled(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> io::Result<BpfProgram> {
        seccomp::filter(rules, SeccompAction::Allow, SeccompAction::Errno(errno.unsigned_abs()))
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn filter_calls(sends_signals: bool) -> io::Result<()> {
    let mut programs = vec![
        calls::filter(calls::IGNORED.iter().chain(calls::IGNORED_BY_PATH), 0)?,
        calls::filter(calls::UNKNOWN.iter(), libc::ENOSYS)?,
        calls::argument_filter(calls::DENIED_ARGUMENTS, libc::EPERM)?,
    ];
    if !sends_signals {
        programs.push(calls::filter(calls::SIGNALS.iter(), libc::EPERM)?);
        programs.push(calls::argument_filter(calls::SIGNAL_ARGUMENTS, libc::EPERM)?);
    }
    programs.push(calls::filter(calls::DENIED.iter(), libc::EPERM)?);
    for program in programs {
        seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls {
    //! Architectures without a list of system calls.

    /// `true` if this architecture has a list.
    pub(super) const ARE_KNOWN: bool = false;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn filter_calls(_: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
