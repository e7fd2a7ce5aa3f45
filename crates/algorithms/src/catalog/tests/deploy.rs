//! Tests of deployment on Linux, with the built-in catalog and with catalogs made for the test.

use std::path::Path;

use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;

use super::*;
use crate::catalog::linux::{Knob, Place, Setting};

fn deployment(text: &str) -> Deployment {
    Deployment::of(&parse(text))
}

fn obstacles(text: &str) -> Vec<String> {
    let deployment = deployment(text);
    let obstacles = deployment.obstacles.iter().map(ToString::to_string);
    obstacles.collect()
}

#[test]
fn deployable_stacks_of_the_catalog() {
    let stacks = CATALOG.deployable();
    let stacks: Vec<String> = stacks.iter().map(ToString::to_string).collect();
    let controls = [
        "reno",
        "westwood-linux",
        "cubic",
        "vegas",
        "veno",
        "bbr-v1",
        "hybla",
        "htcp",
        "illinois",
        "dctcp",
    ];
    let of = |recovery: &str| controls.map(|control| format!("{recovery}/{control}"));
    assert_eq!(stacks, of("rack"));
}

#[test]
fn algorithms_that_share_a_name_with_linux_are_not_taken_for_its() {
    // Linux's `bbr` is version 1, its `westwood` is Westwood+, and its recovery is RACK-TLP.
    for stack in [
        "rack/bbr",
        "rack/westwood",
        "sack/cubic",
        "fack/reno",
        "reno/reno",
        "momentary/reno",
        "le/cubic",
        "rack/reno/veno/24",
        "rack/veno/veno/1",
    ] {
        assert!(!deployment(stack).is_possible(), "{stack}");
        assert_eq!(deployment(stack).commands(), Vec::<String>::new());
    }
    assert!(obstacles("rack/bbr")[0].contains("version 1"));
    assert_eq!(deployment("rack/bbr").counterpart(), None);
}

#[test]
fn commands_turn_it_on() {
    let rack = [
        "modprobe tcp_westwood",
        "sysctl -w net.ipv4.tcp_sack=1",
        "sysctl -w net.ipv4.tcp_recovery=1",
        "sysctl -w net.ipv4.tcp_early_retrans=3",
        "sysctl -w net.ipv4.tcp_congestion_control=westwood",
    ];
    let westwood = deployment("rack/westwood-linux");
    assert_eq!(westwood.commands(), rack);
    let route = westwood.route_command().unwrap();
    assert!(route.ends_with(" congctl westwood"), "{route}");
    let call = "setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"westwood\", 8)";
    assert_eq!(westwood.socket_option().as_deref(), Some(call));
    // Every kernel has `reno`, and `cubic` is usually built in, so neither needs a module.
    for stack in ["rack/reno", "rack/cubic"] {
        let commands = deployment(stack).commands();
        assert!(!commands[0].contains("modprobe"), "{commands:?}");
    }
    // SACK cannot be disabled for a single connection: the setting applies to the whole machine, in both directions.
    assert!(obstacles("newreno/reno")[0].contains("SACK"));
}

#[test]
fn parameters_need_something_that_sets_them() {
    let tuned = deployment("rack(tlp=off,reo_wnd=static)/cubic(fast_convergence=off,pacing=on)");
    assert!(tuned.is_possible());
    let commands = tuned.commands().join("\n");
    for wanted in [
        "tcp_recovery=3",
        "tcp_early_retrans=0",
        "echo 0 > /sys/module/tcp_cubic/parameters/fast_convergence",
        " root fq",
    ] {
        assert!(commands.contains(wanted), "{wanted}: {commands}");
    }
    assert!(!commands.contains("tcp_recovery=1"), "{commands}");
    let checks = tuned.checks().join("\n");
    assert!(checks.contains("tc qdisc show"), "{checks}");
    // C cannot be set, and Linux does not offer PRR-CRB.
    let fixed = obstacles("rack(prr=crb)/cubic(c=0.5)");
    assert_eq!(fixed.len(), 2);
    assert!(fixed[1].contains("cubic(c=0.5)"), "{fixed:?}");
    // Linux's own value is no obstacle, whether it is given or not.
    assert!(deployment("rack(timer_tick=1ms)/cubic(slow_start=hystart)").is_possible());
    // The value of another dialect is an obstacle.
    assert!(!deployment("rack(timer_tick=0s)/cubic").is_possible());
    // These settings use the parameters of a module.
    let tuned = deployment("rack/hybla(rtt0=50)").commands().join("\n");
    let wanted = "echo 50 > /sys/module/tcp_hybla/parameters/rtt0";
    assert!(tuned.contains(wanted), "{tuned}");
    assert!(deployment("rack/htcp(rtt_scaling=off)").is_possible());
    // This parameter can be set only when the module is loaded.
    assert!(!deployment("rack/illinois(theta=3)").is_possible());
    let tuned = deployment("rack/dctcp(shift_g=5,alpha=0.5)")
        .commands()
        .join("\n");
    for wanted in [
        "echo 5 > ",
        "/dctcp_shift_g",
        "echo 512 > ",
        "/dctcp_alpha_on_init",
    ] {
        assert!(tuned.contains(wanted), "{tuned}");
    }
    // Linux's Veno uses the last delay, like ours with `rtt=latest`.
    assert!(deployment("rack/veno(rtt=latest)").is_possible());
    assert!(!deployment("rack/veno(rtt=smoothed)").is_possible());
}

#[test]
fn a_kernels_sender_is_like_a_stack_only_if_nothing_else_is_changed() {
    let counterpart = |text| {
        let deployment = deployment(text);
        deployment
            .counterpart()
            .map(|control| control.name.to_string())
    };
    assert_eq!(counterpart("rack/cubic").as_deref(), Some("cubic"));
    assert_eq!(counterpart("rack/bbr-v1").as_deref(), Some("bbr"));
    assert_eq!(
        counterpart("rack/westwood-linux").as_deref(),
        Some("westwood")
    );
    // A new namespace has its own sysctls; modules belong to the whole machine.
    assert_eq!(counterpart("newreno/reno"), None);
    assert_eq!(counterpart("rack(tlp=off)/cubic"), None);
    let module = "rack/cubic(fast_convergence=off)";
    assert_eq!(counterpart(module).as_deref(), Some("cubic"));
    assert_eq!(counterpart("le/cubic"), None);
}

#[test]
fn the_nearest_stack_can_be_enabled() {
    let near = |text| {
        CATALOG
            .nearest_deployable(&parse(text))
            .map(|s| s.to_string())
    };
    assert_eq!(near("le/westwood").as_deref(), Some("rack/westwood-linux"));
    assert_eq!(near("reno/reno").as_deref(), Some("rack/reno"));
    assert_eq!(near("le/reno/veno/24").as_deref(), Some("rack/reno"));
    assert_eq!(near("rack/cubic(c=0.5)").as_deref(), Some("rack/cubic"));
    // Version 1 is a different algorithm from BBRv3 and does not replace it. A stack that can be enabled needs no
    // replacement.
    assert_eq!(near("rack/bbr"), None);
    assert_eq!(near("rack/cubic"), None);
}

#[test]
fn entries_name_existing_entries_and_parameters() {
    for entry in CATALOG.descriptions() {
        match &entry.linux {
            Linux::Missing(missing) => {
                let Some(near) = missing.near.as_deref() else {
                    continue;
                };
                let near = CATALOG.find(entry.axis, near).unwrap();
                assert!(matches!(near.linux, Linux::Has(_)), "{}", entry.name);
            }
            Linux::Has(has) => {
                let parameters = has.knobs.iter().map(|knob| &knob.parameter);
                let parameters = parameters.chain(has.fixed.iter().map(|(name, _)| name));
                for parameter in parameters {
                    let mut specs = entry.parameters.iter();
                    let spec = specs.find(|spec| spec.name == *parameter);
                    assert!(spec.is_some(), "{}({parameter})", entry.name);
                }
                for knob in &has.knobs {
                    let spec = entry.parameters.iter().find(|p| p.name == knob.parameter);
                    words_are_known(&spec.unwrap().kind, knob);
                }
            }
        }
    }
}

/// Checks that the words of a knob are words of its parameter.
fn words_are_known(kind: &Kind, knob: &Knob) {
    let crate::catalog::linux::Scale::Words(words) = &knob.scale else {
        return;
    };
    for (word, _) in words.iter() {
        let value = kind.parse(word);
        assert!(value.is_ok(), "{}: {word}", knob.parameter);
    }
}

/// Checks on this machine, if it runs Linux, that every file exists to which a command of the catalog writes.
#[test]
fn this_machines_kernel_has_the_settings() {
    if !Path::new("/proc/sys/net/ipv4/tcp_congestion_control").exists() {
        eprintln!("*** skipped: no Linux, or its /proc/sys is not to be seen");
        return;
    }
    let mut seen = 0;
    for entry in CATALOG.descriptions() {
        let Linux::Has(has) = &entry.linux else {
            continue;
        };
        let places = has.settings.iter().map(|setting: &Setting| &setting.place);
        for place in places.chain(has.knobs.iter().map(|knob| &knob.place)) {
            let Some(file) = place.file() else {
                continue;
            };
            // A module that is neither built in nor loaded shows no parameters.
            let module = matches!(place, Place::Module { module, .. }
                if !Path::new("/sys/module").join(&**module).exists());
            if !module {
                assert!(Path::new(&file).exists(), "{}: {file}", entry.name);
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

/// Returns the catalog of another program: one control in a separate module, and two recoveries with conflicting
/// settings.
fn theirs() -> Catalog {
    let mut catalog = Catalog::empty();
    let sack = |value: &'static str| {
        InLinux::always("a recovery of theirs").changed(Place::sysctl("net.their.sack"), value)
    };
    let newreno = crate::recovery::newreno::entry();
    let newreno = std::sync::Arc::new(newreno);
    let recovery = |name: &'static str, linux: Linux| -> Entry<dyn Recovery> {
        let newreno = std::sync::Arc::clone(&newreno);
        Entry::recovery(name, file!())
            .linux(linux)
            .build(move |(), context| newreno.build(&newreno.defaults(Dialect::Rfc), context))
    };
    let reno = std::sync::Arc::new(crate::congestion::reno::entry());
    let control = |name: &'static str, linux: Linux| -> Entry<dyn CongestionControl> {
        let reno = std::sync::Arc::clone(&reno);
        Entry::control(name, file!())
            .linux(linux)
            .build(move |(), context| reno.build(&reno.defaults(Dialect::Rfc), context))
    };
    let none: Entry<dyn Differentiation> = crate::differentiation::none::entry();
    let zero: Entry<dyn Response> = crate::response::tcp::entry();
    let half = InLinux::module("a module of theirs", "half", "tcp_half")
        .changed(Place::sysctl("net.their.sack"), "1");
    catalog
        .register(recovery("with", sack("1").into()))
        .unwrap();
    catalog
        .register(recovery("without", sack("0").into()))
        .unwrap();
    catalog
        .register(recovery("paper", Linux::missing("").into()))
        .unwrap();
    catalog.register(control("half", half.into())).unwrap();
    catalog
        .register(control(
            "plain",
            InLinux::always("no control at all").into(),
        ))
        .unwrap();
    catalog.register(none).unwrap();
    catalog.register(zero).unwrap();
    catalog
}

#[test]
fn all_parts_must_be_there_together() {
    let catalog = theirs();
    let deployment = |text| Deployment::of(&StackSpec::parse(text, &catalog).unwrap());
    let commands = [
        "modprobe tcp_half",
        "sysctl -w net.their.sack=1",
        "sysctl -w net.ipv4.tcp_congestion_control=half",
    ];
    assert_eq!(deployment("with/half").commands(), commands);
    // One part needs SACK enabled, the other needs it disabled.
    let clash = deployment("without/half");
    assert!(
        matches!(clash.obstacles.as_slice(), [Obstacle::Clash { .. }]),
        "{clash:?}"
    );
    let text = clash.obstacles[0].to_string();
    assert!(text.contains("net.their.sack") && text.contains('0') && text.contains('1'));
    // There is no congestion control of the kernel to select.
    assert_eq!(deployment("with/plain").obstacles, [Obstacle::NoControl]);
    assert_eq!(deployment("paper/half").obstacles.len(), 1);
    let all: Vec<String> = catalog
        .deployable()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(all, ["with/half"]);
}

#[test]
fn an_entry_without_a_declaration_is_not_in_linux() {
    let entry: Entry<dyn Differentiation> = Entry::differentiation("mine", file!())
        .build(|(), _| Box::new(crate::differentiation::always::Always));
    assert_eq!(entry.description().linux, Linux::missing("").into());
}
