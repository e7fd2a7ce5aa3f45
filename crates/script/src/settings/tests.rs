use super::*;
use crate::settings::shell::{commands, numbers};

fn settings() -> Settings {
    Settings::new(None, Dialect::Linux, Duration::from_millis(4))
}

fn take(text: &str) -> Result<Settings, String> {
    let mut settings = settings();
    settings.take_commands(text, Path::new("."))?;
    Ok(settings)
}

fn config(settings: &Settings) -> Config {
    let socket = SocketSettings::default();
    settings
        .connection(&socket, Opened::Here)
        .expect("a stack")
        .0
}

#[test]
fn commands_are_split_into_words() {
    let words = |text: &str| -> Vec<Vec<String>> {
        let all = commands(text).into_iter();
        all.filter(|words| !words.is_empty()).collect()
    };
    assert_eq!(
        words("a \"b c\" d='e f' # g\n./x \\\n y; z > /dev/null 2>&1 && echo 3 > /p"),
        [
            vec!["a", "b c", "d=e f"],
            vec!["./x", "y"],
            vec!["z"],
            vec!["echo", "3", ">", "/p"],
        ]
    );
    assert_eq!(
        words("a \"0\">/p; b c>d 2>/dev/null >> e; f 0>/p; g 1>h; i &>/dev/null; j '1'2>/p"),
        [
            vec!["a", "0", ">", "/p"],
            vec!["b", "c", ">", "d", ">", "e"],
            vec!["f", "0>", "/p"],
            vec!["g", ">", "h"],
            vec!["i"],
            vec!["j", "12", ">", "/p"],
        ]
    );
    assert_eq!(
        numbers("4096 0x10 $((15*1024))"),
        Some(vec![4096, 16, 15360])
    );
    assert_eq!(numbers("on"), None);
}

#[test]
fn sysctls_change_the_configuration_of_connections() {
    let off = take("sysctl -q net.ipv4.tcp_timestamps=0 net/ipv4/tcp_sack=0").expect("known");
    assert!(config(&off).offer.timestamps.is_none());
    assert!(!config(&off).offer.sack.is_on() && !config(&off).offer.dsack.is_on());
    let buffer = take("../x/set_sysctls.py \"/proc/sys/net/ipv4/tcp_rmem=4096 8192 65536\"");
    assert_eq!(config(&buffer.expect("known")).receive_buffer, 65536);
    let retries = take("echo 2 > /proc/sys/net/ipv4/tcp_syn_retries").expect("known");
    assert_eq!(config(&retries).open_timeout, Duration::from_secs(11));
}

#[test]
fn echo_is_parsed_as_by_a_shell() {
    for text in [
        "echo 0 > /proc/sys/net/ipv4/tcp_sack",
        "echo \"0\">/proc/sys/net/ipv4/tcp_sack",
        "echo '0'>>/proc/sys/net/ipv4/tcp_sack",
        "echo -n 0 >/proc/sys/net/ipv4/tcp_sack 2>/dev/null",
    ] {
        let settings = take(text).expect(text);
        assert!(!config(&settings).offer.sack.is_on(), "{text}");
    }
    let several = take("echo 4096 8192 65536 >/proc/sys/net/ipv4/tcp_rmem").expect("known");
    assert_eq!(config(&several).receive_buffer, 65536);
    for text in ["echo 0>/proc/sys/x", "echo 1>/proc/sys/x"] {
        let reason = take(text).expect_err(text);
        assert!(reason.contains("descriptor"), "{reason}");
    }
}

#[test]
fn the_script_chooses_the_control_unless_a_stack_is_given() {
    let text = "sysctl net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_early_retrans=0";
    let scripts = take(text).expect("known");
    let socket = SocketSettings::default();
    let stack = |settings: &Settings| settings.stack_for(&socket).expect("a stack").to_string();
    assert_eq!(stack(&scripts), "rack(tlp=off)/reno");
    assert_eq!(stack(&named("le/westwood", text)), "le/westwood");
}

fn named(stack: &str, text: &str) -> Settings {
    let stack = StackSpec::parse(stack, &Catalog::builtin()).expect("a stack");
    let mut named = Settings::new(Some(stack), Dialect::Linux, Duration::ZERO);
    named.take_commands(text, Path::new(".")).expect("known");
    named
}

#[test]
fn settings_of_the_script_apply_to_a_given_stack_unless_it_sets_them() {
    let text = "sysctl net.ipv4.tcp_early_retrans=0 net.ipv4.tcp_frto=0
        sysctl net.ipv4.tcp_congestion_control='cubic(slow_start=hystart++)'
        tc qdisc replace dev tun0 root fq";
    let socket = SocketSettings::default();
    for (stack, parameters) in [
        (
            "rack/cubic",
            [
                "rack(tlp=off)",
                "slow_start=hystart++",
                "undo_frto=off",
                "pacing=on",
            ],
        ),
        (
            "rack(tlp=on)/reno",
            ["rack/reno", "undo_frto=off", "pacing=on", "reno"],
        ),
        (
            "le/cubic(slow_start=standard)",
            ["le/cubic", "slow_start=standard", "undo_frto=off", ""],
        ),
        ("rack/bbr", ["rack(tlp=off)/bbr", "", "", ""]),
    ] {
        let settings = named(stack, text);
        let stack = settings.stack_for(&socket).expect("a stack").to_string();
        let says = |parameter: &str| stack.contains(parameter);
        assert!(
            parameters.iter().all(|parameter| says(parameter)),
            "{stack}"
        );
    }
}

#[test]
fn f_rto_can_be_turned_off() {
    let socket = SocketSettings::default();
    let stack = |text: &str| {
        let settings = take(text).expect("known");
        settings.stack_for(&socket).expect("a stack").to_string()
    };
    assert_eq!(
        stack("sysctl net.ipv4.tcp_frto=0"),
        "rack/cubic(undo_frto=off)"
    );
    assert_eq!(stack("sysctl net.ipv4.tcp_frto=2"), "rack/cubic");
}

#[test]
fn unknown_settings_are_a_reason_to_skip() {
    for (text, words) in [
        ("sysctl -q net.ipv4.tcp_ecn=6", "tcp_ecn=6"),
        ("sysctl -q net.ipv4.tcp_mtu_probing=3", "tcp_mtu_probing=3"),
        ("sysctl -q net.ipv4.tcp_reordering=10", "tcp_reordering=10"),
        (
            "sysctl -q net.ipv4.tcp_congestion_control=nobody",
            "`nobody`",
        ),
        ("tc filter add dev tun0", "`tc`"),
        ("nstat", "`nstat`"),
        ("./not-there.sh", "unreadable file"),
    ] {
        let reason = take(text).expect_err(text);
        assert!(reason.contains(words), "{text}: {reason}");
    }
}

#[test]
fn a_queue_with_an_effect_is_a_reason_to_skip() {
    for queue in [
        "netem delay 10ms",
        "netem loss 10%",
        "tbf rate 1mbit burst 32kbit latency 400ms",
        "fq maxrate 1mbit",
        "fq ce_threshold 1ms",
        "fq limit 20",
        "fq nopacing",
        "fq_codel ce_threshold 1ms",
        "pfifo limit 9",
        "pfifo limit",
        "ingress",
    ] {
        let text = format!("tc qdisc replace dev tun0 root {queue}");
        let reason = take(&text).expect_err(queue);
        let kind = queue.split(' ').next().unwrap_or_default();
        assert!(
            reason.contains("queue") && reason.contains(kind),
            "{reason}"
        );
    }
    let reason = take("tc qdisc add dev tun0 root fq limit 20000 maxrate 9mbit");
    assert!(reason.is_err_and(|reason| reason.contains("fq maxrate 9mbit")));
}

#[test]
fn a_queue_that_accepts_everything_makes_no_difference() {
    let after = |queue: &str| {
        let text = format!("tc qdisc add dev tun0 root handle 1: {queue}");
        let settings = take(&text).expect(queue);
        (settings.refuses, settings.pacing.is_on)
    };
    for queue in ["pfifo", "pfifo limit 1000", "pfifo_fast", "fq_codel"] {
        assert_eq!(after(queue), (false, false), "{queue}");
    }
    for queue in ["fq", "fq limit 10000 flow_limit 200 quantum 3028 pacing"] {
        assert_eq!(after(queue), (false, true), "{queue}");
    }
    assert_eq!(after("pfifo limit 0"), (true, false));
    for (then, stays) in [("delete dev tun0 root", false), ("show dev tun0", true)] {
        let settings = take(&format!(
            "tc qdisc add dev tun0 root pfifo limit 0; tc qdisc {then}"
        ));
        assert_eq!(settings.expect(then).refuses, stays, "{then}");
    }
}

#[test]
fn the_tolerance_is_an_eighth_of_a_long_wait() {
    let settings = settings();
    assert_eq!(settings.tolerance(Duration::ZERO), Duration::from_millis(4));
    let long = settings.tolerance(Duration::from_secs(1));
    assert_eq!(long, Duration::from_millis(125));
}

#[test]
fn options_do_not_change_an_existing_connection() {
    let mut socket = SocketSettings::default();
    assert!(is_harmless("SO_REUSEADDR"));
    socket
        .set("TCP_MAXSEG", 1000, Connected::No)
        .expect("known");
    let made = settings()
        .connection(&socket, Opened::Here)
        .expect("a stack");
    assert_eq!(made.0.mss, 1000);
    let late = socket.set("TCP_USER_TIMEOUT", 3000, Connected::Yes);
    assert!(late.is_err_and(|reason| reason.contains("existing connection")));
    assert!(socket.set("TCP_QUEUE_SEQ", 1, Connected::No).is_err());
}

#[test]
fn a_user_timeout_of_zero_is_the_systems() {
    let mut socket = SocketSettings::default();
    let mut timeout = |millis| {
        let set = socket.set("TCP_USER_TIMEOUT", millis, Connected::No);
        set.expect("known");
        let made = settings().connection(&socket, Opened::Here);
        made.expect("a stack").0.user_timeout
    };
    let system = system_user_timeout();
    assert_eq!(timeout(3000), Duration::from_secs(3));
    assert_eq!(timeout(0), system);
    assert!(system > Duration::from_secs(60));
}

#[test]
fn the_ipv6_mtu_is_the_runners_unless_the_script_sets_it() {
    let mss = |options: &[(&str, &str)]| {
        let mut settings = settings();
        settings.mtu_ipv6 = 1520;
        for (name, value) in options {
            let setting = Setting {
                line: 1,
                name: (*name).to_owned(),
                value: Some((*value).to_owned()),
            };
            settings.take_option(&setting).expect("known");
        }
        config(&settings).mss
    };
    assert_eq!(mss(&[]), 1460);
    assert_eq!(mss(&[("ip_version", "ipv6")]), 1460);
    assert_eq!(mss(&[("ip_version", "ipv6"), ("mtu", "1500")]), 1440);
}

#[test]
fn syns_at_even_intervals_count_for_the_open_timeout() {
    let patient = take("sysctl -q net.ipv4.tcp_syn_retries=1").expect("known");
    assert_eq!(config(&patient).even_syns, 4);
    assert_eq!(config(&patient).open_timeout, Duration::from_secs(7));
    let text = "sysctl -q net.ipv4.tcp_syn_retries=1 net.ipv4.tcp_syn_linear_timeouts=0";
    assert_eq!(
        config(&take(text).expect("known")).open_timeout,
        Duration::from_secs(3)
    );
    let answered = patient
        .connection(&SocketSettings::default(), Opened::ByPeer)
        .expect("a stack");
    assert_eq!(answered.0.open_timeout, Duration::from_secs(63));
}
