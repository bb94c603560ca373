//! `install` and `uninstall`: the files of coding agents, as people have them, before and after.

mod hostile;
mod machine;
mod ownership;
mod real_clients;
mod round_trip;
