//! The server's settings, given on its command line so that no file overrules them. What changes while it runs stands in
//! [`super::limits`].

use std::ffi::OsString;
use std::path::Path;

use contract::config::Embedded;
use platform::room;

use super::place::Place;

/// The fixed part, with the reason where it is not plain.
const FIXED: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    // A killed client must not leave its query running.
    ("client_connection_check_interval", "5s"),
    // Provisioning touches many tables in one transaction.
    ("max_locks_per_transaction", "256"),
    // No replica: the smallest log.
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("checkpoint_timeout", "15min"),
    ("fsync", "on"),
    ("full_page_writes", "on"),
    // Queries are short, and other work wants the cores.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // A generic plan would run the vector index under filters that need the exact path.
    ("plan_cache_mode", "force_custom_plan"),
    ("random_page_cost", "1.1"),
    // Three processes fewer, and no measurable cost while the data is in the page cache.
    ("io_method", "sync"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("lc_messages", "C"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    ("log_min_messages", "warning"),
    ("log_checkpoints", "off"),
    // Statements and row values may hold source code and secrets, so neither reaches the log.
    ("log_min_error_statement", "panic"),
    ("log_error_verbosity", "terse"),
];

/// The arguments of `postgres`.
pub(super) fn arguments(place: &Place, settings: &Embedded, socket_directory: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        vec!["-D".into(), place.data().into(), "-k".into(), socket_directory.into()];
    let mut set = |name: &str, value: OsString| {
        let mut setting = OsString::from(format!("{name}="));
        setting.push(value);
        arguments.push("-c".into());
        arguments.push(setting);
    };
    for (name, value) in FIXED {
        set(name, (*value).into());
    }
    if cfg!(target_os = "linux") {
        // After a crash: one call instead of an fsync of each of the files, which are many with many projects.
        set("recovery_init_sync_method", "syncfs".into());
    }
    set("config_file", place.limits_file().into());
    set("hba_file", place.hba_file().into());
    set("ident_file", place.ident_file().into());
    set("shared_buffers", format!("{}MB", settings.shared_buffers_mb).into());
    set("maintenance_work_mem", format!("{}MB", settings.maintenance_work_mem_mb).into());
    set("max_connections", settings.connections_max.to_string().into());
    set("max_parallel_maintenance_workers", maintenance_workers(settings).to_string().into());
    arguments
}

/// A parallel index build keeps its graph in shared memory, `maintenance_work_mem` of it. Where there is less, as in
/// containers with their 64 MB by default, a build with helpers fails for lack of space and one without does not.
fn maintenance_workers(settings: &Embedded) -> u32 {
    let needed =
        u64::from(settings.maintenance_work_mem_mb + settings.maintenance_work_mem_mb / 8) * 1024 * 1024;
    let enough = match room::free(Path::new("/dev/shm")) {
        Ok(free) => free > needed,
        // No such file system: the platform bounds shared memory in another way.
        Err(_) => true,
    };
    u32::from(enough)
}
