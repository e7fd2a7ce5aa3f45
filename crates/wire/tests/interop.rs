//! Interoperability of the endpoint with other TCPs: this machine's kernel, and through it curl, nginx and iperf3; in
//! both roles and both address families, with and without loss.

#[cfg(target_os = "linux")]
mod testbed;

#[cfg(target_os = "linux")]
#[path = "interop/ours.rs"]
mod ours;

#[cfg(target_os = "linux")]
#[path = "interop/watch.rs"]
mod watch;

#[cfg(target_os = "linux")]
#[path = "interop/kernel.rs"]
mod kernel;

#[cfg(target_os = "linux")]
#[path = "interop/programs.rs"]
mod programs;

#[cfg(target_os = "linux")]
#[path = "interop/iperf3.rs"]
mod iperf3;

#[cfg(target_os = "linux")]
#[path = "interop/iperf3_client.rs"]
mod iperf3_client;

#[cfg(target_os = "linux")]
#[path = "interop/lossy.rs"]
mod lossy;

#[cfg(target_os = "linux")]
#[path = "interop/path_mtu.rs"]
mod path_mtu;

#[cfg(target_os = "linux")]
#[path = "interop/strangers.rs"]
mod strangers;

#[cfg(target_os = "linux")]
#[path = "interop/groups.rs"]
mod groups;

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("TUN devices need Linux: nothing is tested here");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut cases = kernel::cases();
    cases.extend(programs::cases());
    cases.extend(iperf3::cases());
    cases.extend(iperf3_client::cases());
    cases.extend(lossy::cases());
    cases.extend(path_mtu::cases());
    cases.extend(strangers::cases());
    cases.extend(groups::cases());
    testbed::run(cases, testbed::Together::Few)
}
