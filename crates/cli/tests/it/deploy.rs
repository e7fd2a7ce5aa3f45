//! Tests of the commands for deployment in Linux that `dupack stacks` prints.

use crate::common::{Folder, dupack, errors, text};

fn printed(args: &[&str]) -> String {
    let output = dupack(args).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    text(&output.stdout)
}

#[test]
fn stacks_accepts_a_whole_stack() {
    let commands = printed(&["stacks", "rack/cubic"]);
    assert!(commands.contains("sysctl -w net.ipv4.tcp_congestion_control=cubic"));
    let missing = printed(&["stacks", "le/westwood"]);
    assert!(missing.contains("cannot be turned on"), "{missing}");
    let json = printed(&["stacks", "rack/cubic", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["kernel_sender"], "kernel:cubic");
    let output = dupack(&["stacks", "rack/cubci"]).output().unwrap();
    assert!(!output.status.success());
    assert!(errors(&output).contains("cubci"), "{}", errors(&output));
}

#[test]
fn usual_parameters_are_listed_and_all_on_request() {
    let list = printed(&["stacks"]);
    assert!(list.contains("fast_convergence = on") && !list.contains("css_rounds"));
    assert!(list.contains(" more\n"), "{list}");
    let all = printed(&["stacks", "--all"]);
    assert!(all.contains("css_rounds = 5") && !all.contains(" more\n"));
    let cubic = printed(&["stacks", "cubic"]);
    assert!(cubic.contains("more parameters: `dupack stacks cubic --all`"));
    let all = printed(&["stacks", "cubic", "--all"]);
    assert!(all.contains("css_rounds = 5") && all.lines().count() > cubic.lines().count());
    let json = printed(&["stacks", "cubic", "--json"]);
    assert!(json.contains("\"css_rounds\""));

    let explain = [
        "compare",
        "--stacks",
        "rack/cubic(css_rounds=3)",
        "--explain",
    ];
    let short = printed(&explain);
    assert!(
        short.contains("css_rounds") && short.contains("reo_wnd"),
        "{short}"
    );
    assert!(
        !short.contains("endpoints") && !short.contains("css_limit"),
        "{short}"
    );
    assert!(
        short.contains("more parameters have their defaults"),
        "{short}"
    );
    let all = printed(&[&explain[..], &["--all"]].concat());
    assert!(
        all.contains("endpoints") && all.contains("css_limit"),
        "{all}"
    );
    let trace = printed(&["trace", "rack/cubic", "--explain"]);
    assert!(
        trace.contains("more parameters have their defaults"),
        "{trace}"
    );
    let alone = dupack(&["compare", "--all"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
    assert!(errors(&alone).contains("--explain"), "{}", errors(&alone));
}

#[test]
fn only_deployable_stacks_are_compared() {
    let folder = Folder::new("deployable");
    let out = folder.path().join("out").display().to_string();
    let flags = [
        "--duration",
        "2s",
        "--seeds",
        "2",
        "--loss",
        "1%",
        "--no-harm",
    ];
    let mut args = vec!["compare", "--deployable", "--for", "kernel:6.1"];
    args.extend(["--stacks", "le/reno,rack/cubic"]);
    args.extend(flags);
    args.extend(["--format", "json", "--out", &out]);
    let output = dupack(&args).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(
        errors(&output).contains("left out: le/reno: "),
        "{}",
        errors(&output)
    );
    let json: serde_json::Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(json["stacks"].as_array().unwrap().len(), 1);
    assert_eq!(json["linux"][0]["deployable"], true);
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(page.contains("Deployment in Linux"));

    let none = [
        "compare",
        "--deployable",
        "--for=kernel:6.1",
        "--stacks=le/reno,rack/bbr",
    ];
    let output = dupack(&none).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(
        message.contains("Linux 6.1 has none of these stacks"),
        "{message}"
    );
}
