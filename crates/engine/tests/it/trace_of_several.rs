//! Tests of traces of several stacks, which have the same losses, and of the trace of one of several flows.

use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan, Role};
use dupack_lab::trace::phase::{Phase, Phases};
use dupack_lab::trace::stream::watch;
use dupack_lab::trace::stream::{Account, Onlooker};
use dupack_lab::trace::{Event, Fate, Flow, Repeated, Trace, What};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::WindowCause;

fn plan(stacks: &str, rest: &str) -> Plan {
    let text = format!("stacks = [{stacks}]\nseeds = [7]\nduration = \"20s\"\n{rest}");
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

/// Returns the trace of each stack.
fn traces(plan: &Plan) -> Vec<Trace> {
    let never = Interrupt::new();
    let jobs = plan.jobs().into_iter();
    jobs.map(|job| Trace::record(&plan.scenario(job), job.seed, &never).unwrap())
        .collect()
}

/// Returns the numbers of the lost transmissions, in the order of transmission.
fn lost(trace: &Trace) -> Vec<u64> {
    let lost = trace
        .sends()
        .filter(|(_, sent)| matches!(sent.fate, Fate::Dropped(_)));
    lost.map(|(_, sent)| sent.order).collect()
}

/// With one flow and free space in the queue, the n-th transmission is the n-th packet on the link. Its random draw is
/// the same for every stack, regardless of its content.
#[test]
fn the_nth_packet_on_the_link_meets_the_same_draw_for_every_stack() {
    for loss in [
        "loss = \"2%\"",
        "burst_loss = { enter = \"1%\", leave = \"30%\" }",
    ] {
        let path =
            format!("[path]\nrate = \"2Mbit/s\"\ndelay = \"30ms\"\nbuffer = \"1000pkt\"\n{loss}");
        let plan = plan("\"sack/reno\", \"rack/cubic\", \"le/reno\"", &path);
        let traces = traces(&plan);
        let sent = traces.iter().map(|trace| trace.sends().count() as u64);
        let shortest = sent.min().unwrap();
        let lost = traces.iter().map(|trace| {
            let lost = lost(trace).into_iter();
            // The fate of packets that are in flight at the end is unknown.
            lost.filter(|&order| order + 100 < shortest).collect()
        });
        let lost: Vec<Vec<u64>> = lost.collect();
        assert!(lost[0].len() > 5, "{loss}: {lost:?}");
        assert_eq!(lost[0], lost[1], "{loss}");
        assert_eq!(lost[0], lost[2], "{loss}");
    }
}

#[test]
fn a_loss_script_drops_the_same_packets_of_every_stack() {
    let path =
        "[path]\nrate = \"1Mbit/s\"\ndelay = \"98ms\"\nbuffer = \"1000pkt\"\ndrop = [\"24-30\"]";
    for trace in traces(&plan("\"sack/reno\", \"reno/reno\", \"rack/cubic\"", path)) {
        let dropped = trace.sends().filter(|(_, sent)| sent.fate != Fate::Arrived);
        let dropped = dropped.filter(|(_, sent)| matches!(sent.fate, Fate::Dropped(_)));
        let packets: Vec<u64> = dropped.map(|(_, sent)| sent.number).collect();
        assert_eq!(packets, [24, 25, 26, 27, 28, 29, 30], "{}", trace.stack);
    }
}

/// Returns the phases of a trace with their start times, without repetitions.
fn phases(trace: &Trace) -> Vec<(Instant, Phase)> {
    let mut phases = Phases::new(&trace.flow());
    let mut all: Vec<(Instant, Phase)> = Vec::new();
    for event in &trace.events {
        phases.event(event);
        if let What::State(_) = event.what
            && all.last().is_none_or(|last| last.1 != phases.now())
        {
            all.push((event.at, phases.now()));
        }
    }
    all
}

#[test]
fn a_recovery_lasts_from_reduction_or_retransmission_until_all_sent_data_is_acknowledged() {
    let path = "[path]\nrate = \"1Mbit/s\"\ndelay = \"98ms\"\nbuffer = \"1000pkt\"\ndrop = [\"40\"]\n[sender]\ninitial_ssthresh = \"16pkt\"";
    for stack in [
        "reno/reno",
        "newreno/reno",
        "sack/reno",
        "momentary/reno",
        "rack/cubic",
    ] {
        let plan = plan(&format!("\"{stack}\""), path);
        let trace = &traces(&plan)[0];
        let told: Vec<Phase> = phases(trace).into_iter().map(|p| p.1).collect();
        let calm = [
            Phase::SlowStart,
            Phase::Avoidance,
            Phase::Recovery,
            Phase::Avoidance,
        ];
        assert_eq!(told[..4], calm, "{stack}");
        let all = phases(trace);
        let (begin, end) = (all[2].0, all[3].0);
        let mut again = trace
            .sends()
            .filter(|(_, sent)| sent.repeated != Repeated::First);
        let again = again.next().unwrap().0;
        let mut reduced = trace
            .window_changes()
            .filter(|change| change.cause == WindowCause::Congestion);
        let reduced = reduced.next().unwrap().at;
        assert_eq!(again.min(reduced), begin, "{stack}");
        // The recovery ends exactly when all data that was sent before its start is acknowledged.
        let before = trace.sends().filter(|(at, _)| *at < begin);
        let highest = before.map(|(_, sent)| sent.number).max().unwrap();
        let smss = u64::from(trace.sender.smss);
        let covered = |until: Instant| {
            let acks = trace.acks().filter(|(at, _)| *at <= until);
            let offsets =
                acks.filter_map(|(_, ack)| ack.ack.offset(trace.sender.isn, highest * smss));
            offsets.max().unwrap_or_default() > highest * smss
        };
        assert!(covered(end), "{stack}");
        assert!(!covered(end - Duration::from_nanos(1)), "{stack}");
    }
}

#[test]
fn a_timeout_is_a_separate_phase() {
    let path = "[path]\nrate = \"1Mbit/s\"\ndelay = \"50ms\"\nbuffer = \"1000pkt\"\ndrop = [\"2s..2500ms\"]";
    let trace = &traces(&plan("\"newreno/reno\"", path))[0];
    let timeouts = phases(trace)
        .into_iter()
        .filter(|p| p.1 == Phase::Timeout)
        .count();
    assert!(
        trace.stats.timeouts > 0 && timeouts > 0,
        "{:?}",
        phases(trace)
    );
}

#[test]
fn a_model_of_the_path_has_no_slow_start_phase() {
    let path = "[path]\nrate = \"2Mbit/s\"\ndelay = \"20ms\"";
    let told = phases(&traces(&plan("\"rack/bbr\"", path))[0]);
    assert!(told.iter().any(|p| p.1 == Phase::Model), "{told:?}");
    assert!(told.iter().all(|p| p.1 != Phase::SlowStart), "{told:?}");
}

#[derive(Default)]
struct First(Option<Instant>);

impl Onlooker for First {
    fn begin(&mut self, _: &Flow, _: Option<Duration>) {}

    fn event(&mut self, event: &Event) {
        if let What::Sent(_) = event.what {
            self.0 = self.0.or(Some(event.at));
        }
    }
}

#[test]
fn any_flow_may_be_followed_with_its_own_stack() {
    let rest = "[path]\nrate = \"2Mbit/s\"\ndelay = \"20ms\"\n[[flows]]\n[[flows]]\nstack = \"rack/cubic\"\nstart = \"1s\"";
    let plan = plan("\"sack/reno\"", rest);
    let job = plan.jobs()[0];
    let scenario = plan.scenario(job);
    let roles = scenario.tcp_flows();
    assert_eq!(
        [roles[0].role, roles[1].role],
        [Role::Compared, Role::Other]
    );
    let until = Instant::ZERO + Duration::from_secs(3);
    let follow = |flow: usize| -> (Account, First) {
        let mut first = First::default();
        let account = watch(&scenario, (job.seed, flow), until, &mut first).unwrap();
        (account, first)
    };
    let (one, two) = (follow(0), follow(1));
    assert_eq!(one.0.stack, "sack/reno");
    assert_eq!(two.0.stack, "rack/cubic");
    assert_eq!(one.1.0, Some(Instant::ZERO));
    assert_eq!(two.1.0, Some(Instant::ZERO + Duration::from_secs(1)));
    // The observation ends soon after the requested time, and not at the end of the experiment.
    assert!(one.0.end < until + Duration::from_secs(3), "{}", one.0.end);
    assert!(one.0.reach.packets > 100 && one.0.reach.acks > 100);
}

/// RFC 5681 §3.2: the inflation is three segments at the third duplicate ACK (step 3), one more segment for each
/// further duplicate ACK (step 4), and zero after an ACK of new data (step 6). A recovery that uses SACK has no
/// inflation.
#[test]
fn inflation_follows_the_textbook() {
    let path = "[path]\nrate = \"1Mbit/s\"\ndelay = \"98ms\"\nbuffer = \"1000pkt\"\ndrop = [\"40\"]\n[sender]\ninitial_ssthresh = \"16pkt\"";
    let all = traces(&plan(
        "\"reno/reno\", \"newreno/reno\", \"sack/reno\"",
        path,
    ));
    for trace in &all[..2] {
        let smss = i64::from(trace.sender.smss);
        let mut inflated = 0;
        for (at, state) in trace.states() {
            let wanted = match state.dup_acks {
                0..3 => 0,
                count => i64::from(count) * smss,
            };
            assert_eq!(state.inflation, wanted, "{} at {at}", trace.stack);
            inflated += u32::from(wanted > 0);
        }
        assert!(inflated > 5, "{}: {inflated}", trace.stack);
    }
    assert!(all[2].states().any(|(_, state)| state.dup_acks > 3));
    assert!(all[2].states().all(|(_, state)| state.inflation == 0));
}
