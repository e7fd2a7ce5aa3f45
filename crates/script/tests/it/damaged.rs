//! Tests that playing a damaged script ends and does not panic.

use std::path::Path;

use dupack_script::{Options, run};

const SCRIPT: &str = "\
--tolerance_usecs=5000
`sysctl -q net.ipv4.tcp_sack=1`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,TS val 7 ecr 0>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535 <nop,nop,TS val 8 ecr 7>
+0 accept(3, ..., ...) = 4
+0 %{ x = tcpi_snd_cwnd; assert 1 < x <= 10, 'cwnd=%d' % x }%
+0 writev(4, [{..., 1000}, {..., 2000}], 2) = 3000
* > P. 1:2965(2964) ack 1 <nop,nop,TS val 9 ecr 8>
+0...0.2 read(4, ..., 10) = 10
+.1 < P. 1:11(10) ack 1 win 9 <nop,nop,TS val 9 ecr 7,nop,nop,sack 10:20>
";

fn play(source: &str) {
    let _ = run(source, Path::new("."), &Options::default());
}

#[test]
fn a_script_can_end_anywhere() {
    for end in 0..=SCRIPT.len() {
        play(&SCRIPT[..end]);
    }
}

#[test]
fn any_character_can_be_replaced() {
    for (at, old) in SCRIPT.char_indices() {
        for new in [
            "",
            "9",
            "é",
            "%",
            "`",
            "\"",
            "(",
            "-",
            ".",
            "\n",
            "99999999999999999999",
        ] {
            let rest = &SCRIPT[at + old.len_utf8()..];
            play(&format!("{}{new}{rest}", &SCRIPT[..at]));
        }
    }
}

#[test]
fn any_line_can_be_missing_or_repeated() {
    let lines: Vec<&str> = SCRIPT.lines().collect();
    for left_out in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(left_out);
        play(&fewer.join("\n"));
        let mut more = lines.clone();
        more.insert(left_out, lines[left_out]);
        play(&more.join("\n"));
    }
}
