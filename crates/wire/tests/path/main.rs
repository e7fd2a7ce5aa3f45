//! Tests of the emulated path between the kernel's own TCPs: the path has the configured rate, delay and losses, with
//! and without offload, and leaves nothing behind.

#[cfg(target_os = "linux")]
mod behaviour;

#[cfg(target_os = "linux")]
mod captures;

#[cfg(target_os = "linux")]
mod remains;

#[cfg(target_os = "linux")]
use dupack_testing::{analysers, leftovers};
#[cfg(target_os = "linux")]
use dupack_wire_testing::{self as testbed, Together, case, case_with};

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the emulated path needs Linux: nothing is tested here");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if remains::is_victim() {
        return remains::live_until_killed();
    }
    testbed::run(
        vec![
            case("rate_v4_offload", behaviour::rate_v4_offload),
            case("rate_v6_offload", behaviour::rate_v6_offload),
            case("rate_v4_plain", behaviour::rate_v4_plain),
            case(
                "rate_of_a_recorded_trace",
                behaviour::rate_of_a_recorded_trace,
            ),
            case(
                "delay_is_added_both_ways",
                behaviour::delay_is_added_both_ways,
            ),
            case(
                "loss_is_drawn_per_datagram",
                behaviour::loss_is_drawn_per_datagram,
            ),
            case(
                "loss_is_drawn_per_segment_under_offload",
                behaviour::loss_is_drawn_per_segment_under_offload,
            ),
            case(
                "segments_cut_apart_arrive_whole",
                behaviour::segments_cut_apart_arrive_whole,
            ),
            case(
                "plain_and_offload_may_be_mixed",
                behaviour::plain_and_offload_may_be_mixed,
            ),
            case("reordering_overtakes", behaviour::reordering_overtakes),
            case(
                "a_script_drops_what_it_names",
                behaviour::a_script_drops_what_it_names,
            ),
            case(
                "a_stopped_process_is_reported_as_late",
                behaviour::a_stopped_process_is_reported_as_late,
            ),
            case(
                "captures_hold_what_crossed",
                captures::captures_hold_what_crossed,
            ),
            case_with(
                "tshark",
                "tshark_finds_no_fault_in_captures",
                captures::tshark_finds_no_fault,
            ),
            case_with(
                "tcptrace",
                "tcptrace_finds_every_byte_in_captures",
                captures::tcptrace_finds_every_byte,
            ),
            case(
                "a_finished_run_leaves_nothing",
                remains::a_finished_run_leaves_nothing,
            ),
            case(
                "a_killed_run_leaves_nothing",
                remains::a_killed_run_leaves_nothing,
            ),
            case(
                "a_terminated_run_leaves_nothing",
                remains::a_terminated_run_leaves_nothing,
            ),
        ],
        Together::One,
    )
}
