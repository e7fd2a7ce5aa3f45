//! Interoperability of the endpoint with other TCPs: this machine's kernel, and through it curl, nginx and iperf3. The
//! tests cover both roles and both address families, with and without loss.

#[cfg(target_os = "linux")]
mod ours;

#[cfg(target_os = "linux")]
mod watch;

#[cfg(target_os = "linux")]
mod kernel;

#[cfg(target_os = "linux")]
mod programs;

#[cfg(target_os = "linux")]
mod iperf3;

#[cfg(target_os = "linux")]
mod iperf3_client;

#[cfg(target_os = "linux")]
mod lossy;

#[cfg(target_os = "linux")]
mod path_mtu;

#[cfg(target_os = "linux")]
mod strangers;

#[cfg(target_os = "linux")]
mod groups;

#[cfg(target_os = "linux")]
use dupack_wire_testing as testbed;

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
