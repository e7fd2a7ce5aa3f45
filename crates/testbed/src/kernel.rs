//! Congestion controls of this host's kernel, and of the modules that the kernel can load.

use std::fs;
use std::path::Path;

use dupack_algorithms::catalog::Kernel;

/// Returns the kernel of this host, or `None` if `/proc/sys` does not list its congestion controls.
#[must_use]
pub fn this_host() -> Option<Kernel> {
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let release = release.trim();
    let list = Path::new("/lib/modules").join(release).join("modules.dep");
    let list = fs::read_to_string(list).unwrap_or_default();
    Some(Kernel::host(release, &available.ok()?, loadable(&list)))
}

/// Parses the names of the TCP modules in `modules.dep`, whose lines start with a path:
/// `kernel/net/ipv4/tcp_bbr.ko.xz:`.
fn loadable(list: &str) -> Vec<String> {
    let paths = list.lines().filter_map(|line| line.split(':').next());
    let files = paths.filter_map(|path| path.rsplit('/').next());
    let names = files
        .filter_map(|file| file.split_once(".ko"))
        .map(|(name, _)| name);
    let tcp = names.filter(|name| name.starts_with("tcp_"));
    tcp.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_parsed_from_their_list() {
        let list = "kernel/net/ipv4/tcp_bbr.ko.xz: kernel/net/sched/sch_fq.ko\nkernel/net/ipv4/tcp_vegas.ko:\n\
                    kernel/fs/ext4/ext4.ko:\nnonsense\n";
        assert_eq!(loadable(list), ["tcp_bbr", "tcp_vegas"]);
    }
}
